"""How things stand on a box, as figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from floor.box import away, direct, holds, paths
from floor.box.operation import Operation
from floor.metrics.standing import families

BY = {"user": "ada", "host": "laptop", "pid": 1, "started": 1.0}


def figures(root: Path, unix: float = 1000.0) -> dict[str, float]:
    return {
        " ".join([family.name.removeprefix("floor_"), *(text for _, text in labels)]): value  # type: ignore[misc]
        for family in families(root, unix)
        for labels, value in family.children.items()
    }


def put(root: Path, path: Path, document: Any) -> None:
    place = paths.under(root, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(document if isinstance(document, str) else json.dumps(document))


def test_an_empty_box_tells_nothing(tmp_path: Path) -> None:
    assert figures(tmp_path) == {}


def test_a_switch_at_work(tmp_path: Path) -> None:
    put(tmp_path, paths.MODE, "replicas\n")
    operation = Operation(tmp_path)
    wanted = {"epoch": 4, "verb": "switch", "target": {"mode": "split"}, "config": "", "by": BY}
    operation.take({**wanted, "lease": 90.0, "takeover": None})
    away.announce({"m": away.Away(4, 1042.0, "split"), "old": away.Away(3, 9.0, "split")}, tmp_path)
    assert figures(tmp_path) == {
        "box_mode replicas": 1,
        "operation_live switch": 1,
        "operation_unfinished switch": 0,
        "model_away_seconds split m": 42,
    }
    operation.release(4, "failed")
    assert figures(tmp_path) == {
        "box_mode replicas": 1,
        "operation_live switch": 0,
        "operation_unfinished switch": 1,
    }


def test_what_guard_and_watchdog_keep(tmp_path: Path) -> None:
    engines = [{"unit": "floor-copy-m.service", "memory": 5, "starting": False}, {"unit": "other", "memory": None}]
    put(tmp_path, paths.GUARD_STATE, {"at": 998.0, "floor": 7.0, "engines": engines})
    loud = {"action": "none", "reason": "given up", "alarm": True}
    put(tmp_path, paths.WATCHDOG_STATE, {"at": 990.0, "decisions": {"m@a": loud, "n@a": {"reason": "ok"}}})
    paths.under(tmp_path, paths.HOLDS).parent.mkdir(parents=True, exist_ok=True)
    holds.put(holds.Hold("floor-copy-m.service", "no memory", "x", 1.0), tmp_path)
    put(tmp_path, paths.DIRECT, [{"address": "192.0.2.7", "connections": 3}])
    assert figures(tmp_path) == {
        "held floor-copy-m.service": 1,
        "guard_age_seconds": 2,
        "guard_floor_bytes": 7,
        "engine_memory_bytes floor-copy-m.service": 5,
        "watchdog_age_seconds": 10,
        "watchdog_alarm m@a given up": 1,
        "direct_connections 192.0.2.7": 3,
    }


def test_files_that_are_broken_take_only_their_own_figures(tmp_path: Path) -> None:
    for path in (paths.GUARD_STATE, paths.WATCHDOG_STATE, paths.OPERATION, paths.HOLDS, paths.DIRECT):
        put(tmp_path, path, "{")
    put(tmp_path, paths.MODE, "split\n")
    assert figures(tmp_path) == {"box_mode split": 1}


def test_what_was_written_down_of_strangers_comes_back(tmp_path: Path) -> None:
    assert direct.last(tmp_path) == []
    put(tmp_path, paths.DIRECT, "[]")
    direct.keep([{"address": "fd00::7", "connections": 2}], tmp_path)
    assert direct.last(tmp_path) == [{"address": "fd00::7", "connections": 2}]
