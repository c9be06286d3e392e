"""The watchdog asks simulated engines: what each of its faults comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from floor.healthcheck.verdict import Level, Reason
from floor.sim.process import SimulatedEngine
from floor.watchdog import ask as asking
from floor.watchdog.settings import Copy
from tests.unit.watchdog.words import COPY

KEY = Path("/etc/floor/secrets/engine.key")


@pytest.fixture(scope="module")
def engine() -> Iterator[SimulatedEngine]:
    with SimulatedEngine("flagship", max_requests=2, context=4096, speed_factor=5) as engine:
        yield engine


@pytest.fixture
def copy(engine: SimulatedEngine) -> Iterator[Copy]:
    yield replace(COPY, url=engine.url, key=False)
    engine.clear()


def test_one_that_is_well_gives_a_token_and_its_counts(copy: Copy) -> None:
    verdict, load = asking.ask([copy], KEY)[copy.unit]
    assert (verdict.level, verdict.reason) == (Level.GENERATES, Reason.OK)
    assert load is not None
    assert load.in_flight is not None


def test_one_that_hangs_is_late_within_bounds(
    copy: Copy, engine: SimulatedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "TIMEOUT", 1.5)
    monkeypatch.setattr(asking, "WINDOW", 0.5)
    engine.fault("hang")
    verdict, load = asking.ask([copy], KEY)[copy.unit]
    assert (verdict.reason, load) == (Reason.TIMED_OUT, None)


def test_nobody_listens(copy: Copy) -> None:
    verdict, _ = asking.ask([replace(copy, url="http://127.0.0.1:9")], KEY)[copy.unit]
    assert verdict.reason is Reason.REFUSED


def test_one_that_cannot_be_asked_is_left_out_and_the_others_are_asked(copy: Copy, tmp_path: Path) -> None:
    keyless = replace(copy, unit="floor-copy-other.service", key=True)
    found = asking.ask([copy, keyless, replace(copy, unit="third.service", dialect="nope")], KEY, tmp_path)
    assert set(found) == {copy.unit}
