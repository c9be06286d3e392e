"""What a person is shown of a box, beside what other boxes go by."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from floor.agent.status_facts import Facts
from floor.agent.status_view import EVENTS, FRESH, WORDS, View
from floor.box import away, direct, events, holds, paths
from floor.box.operation import Operation
from floor.box.units import UnitFacts, parse
from floor.metrics import told

UNIT = "floor-pool.service"


def show(names: Sequence[str]) -> dict[str, UnitFacts]:
    return parse(names, "\n\n".join(f"Id={name}\nActiveState=active\nInvocationID=a1" for name in names))


def view(root: Path, clock: Any = lambda: 0.0) -> View:
    return View(Facts([UNIT], root, lambda: 0.0, show, lambda: False), root, clock)


def now(root: Path) -> dict[str, Any]:
    return asyncio.run(view(root).now())


def put(root: Path, path: Path, text: str) -> None:
    place = paths.under(root, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_an_empty_box(tmp_path: Path) -> None:
    found = now(tmp_path)
    assert found["units"][UNIT]["active"] == "active"
    assert (found["mode"], found["events"], found["holds"], found["direct"], found["floor"]) == (None, [], {}, [], None)
    assert found["problems"] == []


def test_all_that_there_is_can_be_read_by_who_shows_it(tmp_path: Path) -> None:
    put(tmp_path, paths.MODE, "split\n")
    put(tmp_path, paths.GUARD_STATE, json.dumps({"floor": 7}))
    put(tmp_path, Path("/proc/meminfo"), "MemTotal: 100 kB\nMemAvailable: 40 kB\n")
    by = {"user": "ada", "host": "laptop", "pid": 1, "started": 1.0}
    wanted = {"epoch": 4, "verb": "switch", "target": {}, "config": "", "by": by, "lease": 90.0, "takeover": None}
    put(tmp_path, paths.OPERATION.with_name("x"), "")
    Operation(tmp_path).take(wanted)
    away.announce({"m": away.Away(4, 1042.0, "split"), "old": away.Away(3, 9.0, "split")}, tmp_path)
    holds.put(holds.Hold("floor-copy-m.service", "no memory", "x", 1.0), tmp_path)
    direct.keep([{"address": "192.0.2.7", "connections": 3}], tmp_path)
    for at in range(EVENTS + 5):
        events.append("pool", "x" * (WORDS + 9), {"long": "data"}, at=float(at), root=tmp_path)
    found = told.read(json.dumps(now(tmp_path)).encode())
    assert (found.mode, found.floor) == ("split", 7.0)
    assert found.away == {"m": {"until": 1042.0, "mode": "split"}}
    assert "no memory" in found.holds["floor-copy-m.service"]
    assert found.direct == (("192.0.2.7", 3),)
    assert found.operation is not None
    assert (found.operation["verb"], found.operation["live"]) == ("switch", True)
    assert [at for at, _, _ in found.events] == [float(at) for at in range(5, EVENTS + 5)]
    assert found.events[0][2] == "x" * WORDS


def test_a_broken_file_is_a_problem_and_hides_nothing_else(tmp_path: Path) -> None:
    put(tmp_path, paths.MODE, "replicas\n")
    put(tmp_path, paths.HOLDS, "{")
    found = now(tmp_path)
    assert found["mode"] == "replicas"
    assert found["holds"] == {}
    assert len(found["problems"]) == 1
    assert "holds.json: is no list of holds" in found["problems"][0]


def test_files_are_read_once_a_second_however_many_ask(tmp_path: Path) -> None:
    at = [0.0]
    one = view(tmp_path, lambda: at[0])

    async def modes() -> list[str | None]:
        found = []
        for moment, mode in ((0.0, "replicas"), (FRESH - 0.01, "split"), (FRESH, "split")):
            at[0] = moment
            put(tmp_path, paths.MODE, mode)
            found.append((await one.now())["mode"])
        return found

    assert asyncio.run(modes()) == ["replicas", "replicas", "split"]
