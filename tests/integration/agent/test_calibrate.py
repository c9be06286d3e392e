"""A simulated engine of each dialect timed from its box, with the box's own key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floor.apply.local import LocalTransport
from floor.box import secrets
from floor.box.locked import mine
from floor.errors import BoxError
from floor.sim.process import SimulatedEngine

from .conftest import KEY

WORK = {"at_once": 2, "prompt": 300, "answer": 24, "seed": 1, "timeout": 60}


def _asked(engine: SimulatedEngine, dialect: str, *, key: bool) -> dict[str, Any]:
    where = {"backend": "flagship@spark-a", "url": engine.url, "model": "flagship", "dialect": dialect}
    return {**where, "task": "generate", "key": key, **WORK}


def test_an_engine_is_timed_with_its_key(box: LocalTransport, engine: SimulatedEngine, tmp_path: Path) -> None:
    secrets.put(KEY, "s" * 30, tmp_path, mine())
    found = box.call("calibrate.measure", _asked(engine, "vllm", key=True))
    assert (found["prompt"], found["answer"]) == (300, 24 * 16)  # 24 are over at once, as fast as it is
    assert found["first"] > 0
    assert found["speed"] > 24
    with pytest.raises(BoxError, match="2 streams at once of 300 tokens and 24 more: refused, 401"):
        box.call("calibrate.measure", _asked(engine, "vllm", key=False))


@pytest.mark.parametrize("dialect", ["llamacpp", "ollama"])
def test_engines_of_other_dialects_are_timed_as_well(box: LocalTransport, dialect: str) -> None:
    with SimulatedEngine("flagship", max_requests=4, context=8192, speed_factor=20, dialect=dialect) as engine:
        found = box.call("calibrate.measure", _asked(engine, dialect, key=False))
    assert found["answer"] == 24 * 16
    assert found["speed"] > 24
