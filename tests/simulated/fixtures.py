"""Fixtures of simulated boxes, for the conftest.py of whoever tests on them."""

from __future__ import annotations

import pytest

from tests.simulated.situation import Situation, in_memory
from tests.simulated.world import World


@pytest.fixture
def situation(monkeypatch: pytest.MonkeyPatch) -> Situation:
    """Two bare boxes."""
    in_memory(monkeypatch)
    return Situation(World())


@pytest.fixture
def deployed(situation: Situation) -> Situation:
    """Two boxes that serve, with an empty log."""
    situation.deploy()
    situation.world.log.clear()
    situation.said.clear()
    return situation
