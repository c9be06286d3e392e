"""Fixtures of the tests with real vLLM: the lab's boxes, showing the engine and the tiny model."""

from __future__ import annotations

import pytest

from tests.lab.boxes import Lab
from tests.lab.session import close_session_lab, session_lab
from tests.real.environment import shows

pytest.register_assert_rewrite("tests.real.deployed")  # what differs is told there, too


def pytest_sessionfinish() -> None:
    """Remove the lab at the end of the session, after all fixtures are torn down."""
    close_session_lab()


@pytest.fixture(scope="module")
def real_lab() -> Lab:
    """The session's lab with both boxes new, showing /opt/vllm and /models/tiny; once for a module."""
    lab = session_lab()
    lab.show(shows())
    return lab
