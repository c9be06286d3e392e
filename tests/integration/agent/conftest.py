"""A real agent process for every call, on a box that is a temporary folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from floor.apply.local import LocalTransport
from floor.sim.process import SimulatedEngine

KEY = "engine-key-engine-key-engine-key"


def agent(root: Path) -> LocalTransport:
    return LocalTransport("spark-a", [sys.executable, "-I", "-m", "floor.agent", "--root", str(root)])


@pytest.fixture
def box(tmp_path: Path) -> LocalTransport:
    return agent(tmp_path)


@pytest.fixture(scope="session")
def engine() -> Iterator[SimulatedEngine]:
    """One engine that asks for a key."""
    with SimulatedEngine("flagship", max_requests=4, context=100_000, key=KEY, speed_factor=20) as engine:
        yield engine
