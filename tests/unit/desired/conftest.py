from __future__ import annotations

import pytest

from floor.config import Config, parse
from floor.desired.state import BoxState
from tests.unit.desired import example


@pytest.fixture
def config() -> Config:
    """Two boxes and a Mac, one model in Docker with a copy on each, one native on the second box."""
    return parse(example.FILE)


@pytest.fixture
def states() -> dict[str, BoxState]:
    return example.make()
