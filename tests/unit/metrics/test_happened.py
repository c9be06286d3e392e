"""Events as counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from floor.box import events, paths
from floor.metrics.happened import Happened

OUT = {"backend": "m@a", "member": False, "reason": "refused"}


def counts(happened: Happened) -> dict[str, float]:
    happened.look()
    return {
        " ".join([family.name.removeprefix("floor_"), *(text for _, text in labels)]): value  # type: ignore[misc]
        for family in happened.families()
        for labels, value in family.children.items()
    }


def watched(root: Path) -> Happened:
    paths.under(root, paths.EVENTS).parent.mkdir(parents=True, exist_ok=True)
    return Happened(paths.under(root, paths.EVENTS))


def test_what_services_did(tmp_path: Path) -> None:
    happened = watched(tmp_path)
    said: list[tuple[str, str, dict[str, Any]]] = [
        ("pool", "m@a is out", OUT),
        ("pool", "m@a is out", OUT),
        ("pool", "m@a is in", {"backend": "m@a", "member": True, "reason": "ok"}),
        ("watchdog", "restarts m@a", {"backend": "m@a", "action": "restart", "reason": "hung"}),
        ("guard", "took m down", {"unit": "floor-copy-m.service", "available": 1}),
        ("guard", "would have taken m down", {"unit": "floor-copy-m.service", "available": 1}),
        ("ada@laptop", "deploy", {}),
        ("ada@laptop", "took m@a out of the pool to measure it", {"verb": "bench", "epoch": 3}),
        ("floor-tooltest", "tool test of m@a, gate: PASS", {"why": "", "launch": "d"}),
    ]
    for at, (who, text, data) in enumerate(said):
        events.append(who, text, data, at=float(at), root=tmp_path)
    assert counts(happened) == {
        "events_total pool": 3,
        "events_total watchdog": 1,
        "events_total guard": 2,
        "events_total operation": 2,
        "events_total tooltest": 1,
        "operations_total bench": 1,
        "pool_changes_total out m@a refused": 2,
        "pool_changes_total in m@a ok": 1,
        "decisions_total restart m@a watchdog": 1,
        "decisions_total kill floor-copy-m.service guard": 1,
        "decisions_total would_kill floor-copy-m.service guard": 1,
    }


def test_what_was_there_before_does_not_count(tmp_path: Path) -> None:
    happened = watched(tmp_path)
    events.append("pool", "m@a is out", OUT, at=1.0, root=tmp_path)
    happened.skip()
    assert counts(happened) == {}
    events.append("pool", "m@a is out", OUT, at=2.0, root=tmp_path)
    assert counts(happened)["events_total pool"] == 1


def test_nothing_is_counted_twice_when_the_older_half_goes(tmp_path: Path) -> None:
    happened = watched(tmp_path)
    for at in range(40):
        events.append("pool", "m@a is out", OUT, at=float(at), root=tmp_path, limit=2000)
        assert counts(happened)["events_total pool"] == at + 1
    assert len(events.read(100, tmp_path)) < 40


def test_a_line_that_is_being_written_is_counted_when_it_is_whole(tmp_path: Path) -> None:
    happened = watched(tmp_path)
    line = json.dumps({"at": 1, "who": "pool", "text": "", "data": OUT}) + "\n"
    place = paths.under(tmp_path, paths.EVENTS)
    place.write_text(line + line[:10])
    assert counts(happened)["events_total pool"] == 1
    place.write_text(line + line)
    assert counts(happened)["events_total pool"] == 2


def test_no_file_and_odd_lines(tmp_path: Path) -> None:
    happened = watched(tmp_path)
    assert counts(happened) == {}
    paths.under(tmp_path, paths.EVENTS).write_text('no\n[]\n{"who": "pool"}\n{"at": 1, "who": "pool", "data": 3}\n')
    assert counts(happened) == {"events_total pool": 1}


def test_what_a_guard_lets_go_and_a_watchdog_only_finds_is_no_kill(tmp_path: Path) -> None:
    happened = watched(tmp_path)
    said: list[tuple[str, dict[str, Any]]] = [
        ("guard", {"unit": "floor-copy-m.service"}),
        ("watchdog", {"backend": "m@a", "action": "none", "reason": "given up"}),
        ("watchdog", {"address": "192.0.2.7", "direct": True}),
        ("group", {"model": "m", "part": "head", "start": "x", "generation": "y"}),
    ]
    for at, (who, data) in enumerate(said):
        events.append(who, "x", data, at=float(at), root=tmp_path)
    assert counts(happened) == {
        "events_total guard": 1,
        "events_total watchdog": 2,
        "events_total group": 1,
        "decisions_total release floor-copy-m.service guard": 1,
        "decisions_total end m group": 1,
    }


def test_an_operation_counts_once_however_many_steps_it_has(tmp_path: Path) -> None:
    happened = watched(tmp_path)
    for at, (verb, epoch) in enumerate([("switch", 4), ("switch", 4), ("switch", 5), ("deploy", 6)]):
        data = {"call": "unit.stop", "why": "x", "verb": verb, "epoch": epoch}
        events.append("ada@laptop", "stop", data, at=float(at), root=tmp_path)
    found = counts(happened)
    assert found["operations_total switch"] == 2
    assert found["operations_total deploy"] == 1
    assert found["events_total operation"] == 4
