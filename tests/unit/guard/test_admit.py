"""May a copy start? Holds, and room that is waited for."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from floor.box import gpu, holds
from floor.box.memory import Memory
from floor.guard import admit, promises
from floor.guard.fit import refusal
from floor.guard.settings import GIB, Copy, Settings

UNIT, OTHER = "floor-copy-flagship.service", "floor-copy-small.service"
SETTINGS = Settings(
    "protect",
    None,
    8 * GIB,
    (
        Copy("flagship@a", UNIT, True, True, 0.78, None),
        Copy("small@a", OTHER, False, True, 0.1, None),
        Copy("cpu@a", "floor-copy-cpu.service", False, False, 0.9, None),
    ),
)


def asked(
    unit: str, available: float | None, held: dict[str, int | None] | None = None, shared: bool | None = True
) -> str:
    seen = Memory(int(121.7 * GIB), None if available is None else int(available * GIB))
    return refusal(SETTINGS, unit, seen, held or {}, shared=shared)


@pytest.mark.parametrize(
    ("unit", "available", "shared", "fits"),
    [
        (UNIT, 98.0, True, True),
        (UNIT, 97.0, True, False),  # 94.9 and the floor of 3
        (UNIT, 60.0, False, True),  # its share is of a card of its own
        (UNIT, 60.0, None, True),  # nobody can tell
        (UNIT, None, True, True),
        ("floor-copy-cpu.service", 2.0, True, True),
        ("floor-copy-nobody.service", 2.0, True, True),
    ],
)
def test_fits(unit: str, available: float | None, shared: bool | None, fits: bool) -> None:
    assert (asked(unit, available, shared=shared) == "") is fits


def test_what_another_start_was_promised_is_not_free() -> None:
    assert asked(OTHER, 60.0, {UNIT: 80 * GIB}) == ""
    said = asked(OTHER, 60.0, {UNIT: 40 * GIB, OTHER: 0})
    assert said == (
        "small@a: a share of 0.1 is 12.2 GiB, and 60.0 GiB are available, 54.9 of them promised to engines that start, "
        "of which 3.0 must stay; see `floor guard advise`"
    )
    assert asked(OTHER, 60.0, {UNIT: None}) == ""


@dataclass
class Clock:
    at: float = 0.0

    def __call__(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def box(root: Path, available: float, mode: str = "protect") -> Path:
    (root / "etc/floor").mkdir(parents=True, exist_ok=True)
    (root / "proc").mkdir(exist_ok=True)
    copies: list[dict[str, Any]] = [
        {"backend": "flagship@a", "unit": UNIT, "docker": True, "card": True, "utilization": 0.78, "cache_memory": None}
    ]
    settings = {"mode": mode, "floor": None, "keep_free": 8 * GIB, "copies": copies}
    (root / "etc/floor/guard.json").write_text(json.dumps(settings))
    memory(root, available)
    return root


def memory(root: Path, available: float) -> None:
    total = int(121.7 * GIB) >> 10
    (root / "proc/meminfo").write_text(f"MemTotal: {total} kB\nMemAvailable: {int(available * GIB) >> 10} kB\n")


def room(root: Path, clock: Clock) -> str:
    return admit.room(UNIT, root, clock, clock.sleep, lambda: gpu.Cards({}, True))


def test_room_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    class Late(Clock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if self.at > 40:
                memory(tmp_path, 110)

    clock = Late()
    assert room(box(tmp_path, 50), clock) == ""
    assert 40 < clock.at < 50


def test_room_that_does_not_come_refuses_the_start(tmp_path: Path) -> None:
    clock = Clock()
    assert "a share of 0.78 is 94.9 GiB, and 50.0 GiB are available" in room(box(tmp_path, 50), clock)
    assert clock.at == admit.WAIT


def test_one_that_observes_refuses_nothing(tmp_path: Path) -> None:
    assert room(box(tmp_path, 50, mode="observe"), Clock()) == ""


def test_without_a_guard_every_start_may(tmp_path: Path) -> None:
    assert room(tmp_path, Clock()) == ""


def test_a_hold_counts_for_the_launch_that_was_taken_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    holds.put(holds.Hold(UNIT, "2.5 GiB were left", "abc", 1.0), tmp_path)
    assert "2.5 GiB were left" in admit.held(UNIT, {"FLOOR_LAUNCH": "abc"}, tmp_path)
    assert admit.held(UNIT, {"FLOOR_LAUNCH": "def"}, tmp_path) == ""
    assert admit.held(OTHER, {"FLOOR_LAUNCH": "abc"}, tmp_path) == ""
    assert admit.main([UNIT, "--held", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "floor-guard: no start: the guard keeps it down, until there is room for it again, "
        "`floor guard release` or another launch: 2.5 GiB were left\n"
    )


def test_what_is_broken_keeps_no_engine_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "var/lib/floor").mkdir(parents=True)
    (tmp_path / "var/lib/floor/holds.json").write_text("{")
    assert admit.main([UNIT, "--held", "--root", str(tmp_path)]) == 0
    assert "holds.json: is no list of holds" in capsys.readouterr().err


def test_two_that_start_at_once_are_not_promised_the_same_memory(tmp_path: Path) -> None:
    """As at a boot: neither has taken anything yet, and the guard has not looked."""
    box(tmp_path, 105)
    clock = Clock()
    assert room(tmp_path, clock) == ""
    assert promises.read(tmp_path, clock.at) == [UNIT]
    settings = tmp_path / "etc/floor/guard.json"
    found = json.loads(settings.read_text())
    found["copies"].append({**found["copies"][0], "backend": "small@a", "unit": OTHER, "utilization": 0.1})
    settings.write_text(json.dumps(found))
    wait, clock.at = admit.WAIT, 1.0
    said = admit.room(OTHER, tmp_path, clock, lambda _: setattr(clock, "at", wait + 1.0), lambda: gpu.Cards({}, True))
    assert said == ""  # after a while nobody is believed to be on the way who cannot be seen


def test_one_that_starts_and_has_taken_nothing_yet_has_its_share_promised(tmp_path: Path) -> None:
    box(tmp_path, 105)
    report = tmp_path / "run/floor/guard/state.json"
    report.parent.mkdir(parents=True)
    one = {"unit": OTHER, "starting": True, "memory": None}
    report.write_text(json.dumps({"at": time.time(), "engines": [one]}))
    settings = tmp_path / "etc/floor/guard.json"
    found = json.loads(settings.read_text())
    found["copies"].append({**found["copies"][0], "backend": "small@a", "unit": OTHER, "utilization": 0.1})
    settings.write_text(json.dumps(found))
    assert "12.2 of them promised to engines that start" in room(tmp_path, Clock())
    report.write_text(json.dumps({"at": time.time() - 3600, "engines": [one]}))
    assert room(tmp_path, Clock()) == ""  # a guard that died an hour ago
    report.write_text(json.dumps({"at": time.time(), "engines": [{**one, "starting": False, "memory": GIB}]}))
    assert room(tmp_path, Clock()) == ""  # it runs, and has what it wants


def test_one_that_restarts_is_promised_its_share_though_the_last_report_has_it_running(tmp_path: Path) -> None:
    box(tmp_path, 105)
    settings = tmp_path / "etc/floor/guard.json"
    found = json.loads(settings.read_text())
    found["copies"].append({**found["copies"][0], "backend": "small@a", "unit": OTHER, "utilization": 0.1})
    settings.write_text(json.dumps(found))
    report = tmp_path / "run/floor/guard/state.json"
    report.parent.mkdir(parents=True)
    one = {"unit": OTHER, "starting": False, "memory": 12 * GIB}
    report.write_text(json.dumps({"at": time.time(), "engines": [one]}))
    promises.put(OTHER, tmp_path, 0.0)
    clock = Clock()
    assert room(tmp_path, clock) == ""
    assert clock.at >= promises.LASTS
