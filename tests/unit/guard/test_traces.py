"""Memory over time (tests/cases/guard/traces.yaml), sampled at the guard's own pace: the stated acts, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.guard.decide import Action, Watch, decide, pace, still
from floor.guard.sample import Engine, Sample
from floor.guard.settings import GIB, Settings

TRACES = yaml.safe_load((Path(__file__).parents[2] / "cases/guard/traces.yaml").read_text())


class Box:
    """A box whose memory follows a trace; what is killed gives its memory back."""

    def __init__(self, trace: dict[str, Any]) -> None:
        self.points = trace["points"]
        self.total = trace.get("total", 121.7)
        self.late = trace.get("late", 0)
        self.engines = {name: one or {} for name, one in trace["engines"].items()}
        self.freed: list[tuple[float, float]] = []

    def sample(self, at: float) -> Sample:
        available, full = self._at(at)
        if available is not None:
            for when, size in self.freed:
                available += size * min(1.0, max(0.0, at - when - self.late) / 2)
        return Sample(
            at=at,
            total=int(self.total * GIB),
            available=None if available is None else int(max(0.0, available) * GIB),
            full=full,
            engines=tuple(
                Engine(f"floor-copy-{name}.service", one.get("starting", False), self._size(one))
                for name, one in self.engines.items()
            ),
        )

    def kill(self, unit: str, at: float) -> None:
        one = self.engines.pop(unit.removeprefix("floor-copy-").removesuffix(".service"))
        self.freed.append((at, one.get("memory") or 50))

    def _size(self, one: dict[str, Any]) -> int | None:
        return None if one.get("memory") is None else int(one["memory"] * GIB)

    def _at(self, at: float) -> tuple[float | None, float | None]:
        for (begin, low, *one), (end, high, *other) in zip(self.points, self.points[1:], strict=False):
            if begin <= at <= end:
                part = (at - begin) / (end - begin)
                full = one[0] + part * (other[0] - one[0]) if one else None
                return (None if low is None else low + part * (high - low)), full
        return self.points[-1][1], None


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace["trace"])
def test_trace(trace: dict[str, Any]) -> None:
    box = Box(trace)
    floor = trace.get("floor")
    settings = Settings("protect", floor and int(floor * GIB), int(trace.get("keep_free", 8) * GIB), ())
    watch, at, found = Watch(), 0.0, []
    while at <= trace["points"][-1][0]:
        sample = box.sample(at)
        before = watch
        watch, decision = decide(watch, sample, settings)
        if decision.action is Action.KILL:
            again = box.sample(at + 0.005)
            assert still(decision, before, again, settings)
            box.kill(decision.unit, at)
        if decision.action is not Action.NONE:
            name = decision.unit.removeprefix("floor-copy-").removesuffix(".service")
            found.append([round(at, 2), str(decision.action), name])
        at += pace(sample, settings)
    wanted = [act for act in trace["acts"] if act[1] != "none"]
    assert [act[1:] for act in found] == [act[1:] for act in wanted], found
    for seen, act in zip(found, wanted, strict=True):
        assert seen[0] == pytest.approx(act[0], abs=max(0.11, act[0] * 0.003)), found
