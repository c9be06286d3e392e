"""Fixtures of the lab: the boxes of the session, as they are or new."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.session import close_session_lab, session_lab


def pytest_sessionfinish() -> None:
    """Remove the lab at the end of the session, after all fixtures are torn down."""
    close_session_lab()


@pytest.fixture(scope="session")
def lab() -> Lab:
    """The session's lab: boxa, boxb and a client, in whatever state the tests before left them."""
    return session_lab()


@pytest.fixture(scope="module")
def clean_lab(lab: Lab) -> Iterator[Lab]:
    """The lab with both boxes new (2 s), once for a module."""
    lab.reset()
    yield lab
    for box in lab.boxes.values():
        box.heal()


@pytest.fixture
def boxa(lab: Lab) -> Box:
    """The first box, as it is."""
    return lab.boxes["boxa"]


@pytest.fixture
def boxb(lab: Lab) -> Box:
    """The second box, as it is."""
    return lab.boxes["boxb"]
