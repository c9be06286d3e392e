"""Fixtures of the tests with llama.cpp's server: the lab's boxes, showing the server and a small model."""

from __future__ import annotations

import pytest

from tests.lab.boxes import Lab
from tests.lab.session import session_lab
from tests.real.llamacpp.environment import shows


@pytest.fixture(scope="module")
def llama_lab() -> Lab:
    """The session's lab with both boxes new, showing the server and the model; once for a module."""
    lab = session_lab()
    lab.show(shows())
    return lab
