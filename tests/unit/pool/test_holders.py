"""Which drains count: people's until they are undone, an operation's as long as its lease lives on this box."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floor.box import drains, paths
from floor.box.locked import mine
from floor.box.operation import Operation, now
from floor.pool.holders import Holders
from floor.pool.missed import Told

A = "flagship@a"


@pytest.fixture
def log() -> list[str]:
    return []


def operation(root: Path, epoch: int, lease: float = 90.0) -> Operation:
    """An operation that was just taken on this box."""
    made = Operation(root, owner=mine())
    by = {"user": "ops", "host": "laptop", "pid": 1, "started": None}
    wanted: dict[str, Any] = {"epoch": epoch, "verb": "deploy", "target": None, "config": "", "by": by}
    made.take(wanted | {"takeover": None, "lease": lease})
    return made


def test_nobody_holds_anything_without_a_file(tmp_path: Path, log: list[str]) -> None:
    assert Holders(tmp_path, {A: ("of before",)}, log.append).now() == {}
    assert log == []


def test_a_change_of_the_file_is_seen(tmp_path: Path, log: list[str]) -> None:
    holders = Holders(tmp_path, {}, log.append)
    drains.add(A, "ops@laptop drain", None, at=1.0, root=tmp_path)
    assert holders.now() == {A: ("ops@laptop drain",)}
    drains.add(A, "somebody", None, at=1.0, root=tmp_path)
    assert holders.now() == {A: ("ops@laptop drain", "somebody")}
    drains.remove(A, None, None, root=tmp_path)
    assert holders.now() == {}


def test_an_operations_drain_ends_with_the_operation(tmp_path: Path, log: list[str]) -> None:
    holders = Holders(tmp_path, {}, log.append)
    drains.add(A, "ops@laptop deploy", 12, at=1.0, root=tmp_path)
    assert holders.now() == {}, "no operation was ever recorded"
    taken = operation(tmp_path, 12)
    assert holders.now() == {A: ("ops@laptop deploy 12",)}
    taken.release(12, "done")
    assert holders.now() == {}


def test_a_lapsed_lease_and_a_later_operation_let_go(tmp_path: Path, log: list[str]) -> None:
    holders = Holders(tmp_path, {}, log.append)
    drains.add(A, "ops@laptop deploy", 12, at=1.0, root=tmp_path)
    operation(tmp_path, 12, lease=1e-6)
    assert holders.now() == {}
    operation(tmp_path, 13)
    assert holders.now() == {}


def test_an_operation_of_another_boot_is_not_live(tmp_path: Path, log: list[str]) -> None:
    drains.add(A, "ops@laptop deploy", 12, at=1.0, root=tmp_path)
    operation(tmp_path, 12)
    place = paths.under(tmp_path, paths.OPERATION)
    place.write_text(place.read_text().replace(now().boot, "another"))
    assert Holders(tmp_path, {}, log.append).now() == {}


def test_what_was_drained_before_stays_drained_while_the_file_is_broken(tmp_path: Path, log: list[str]) -> None:
    place = paths.under(tmp_path, paths.DRAINS)
    place.parent.mkdir(parents=True)
    place.write_text("{")
    holders = Holders(tmp_path, {A: ("ops@laptop drain",)}, log.append)
    assert [holders.now(), holders.now()] == [{A: ("ops@laptop drain",)}] * 2
    (line,) = log
    assert line.startswith(f"{place}: is not a list of drains (")
    assert line.endswith("What was drained before stays drained.")
    place.write_text("{}")
    assert holders.now() == {}
    place.write_text("nonsense")
    assert holders.now() == {}
    assert len(log) == 2


def test_a_broken_operation_record_holds_nothing_and_is_said_once(tmp_path: Path, log: list[str]) -> None:
    drains.add(A, "ops@laptop deploy", 12, at=1.0, root=tmp_path)
    paths.under(tmp_path, paths.OPERATION).write_text("{}")
    holders = Holders(tmp_path, {}, log.append)
    assert [holders.now(), holders.now()] == [{}, {}]
    (line,) = log
    assert line.endswith("Until then no operation's drain counts.")


def test_what_an_operation_found_absent_without_this_box_is_held_from_now_on(tmp_path: Path, log: list[str]) -> None:
    operation(tmp_path, 3)
    holders = Holders(tmp_path, {}, log.append)
    told = [Told(4, {A: ("absent: a",)})]
    assert holders.adopt(told) == [], "what it holds itself has not been read"
    holders.now()
    assert holders.adopt(told) == [
        "flagship@a stays out until a deployment: absent: a, as an operation found without this box"
    ]
    assert holders.now() == {A: ("absent: a",)}
    assert holders.adopt(told) == []
    assert Holders(tmp_path, {}, log.append).now() == {A: ("absent: a",)}, "a restart of the pool must not forget it"


def test_what_it_took_part_in_itself_is_not_missed(tmp_path: Path, log: list[str]) -> None:
    operation(tmp_path, 4)
    holders = Holders(tmp_path, {}, log.append)
    holders.now()
    assert holders.adopt([Told(4, {A: ("absent: a",)})]) == []
    assert holders.now() == {}


def test_a_record_that_cannot_be_read_is_said_and_adopts_nothing(tmp_path: Path, log: list[str]) -> None:
    holders = Holders(tmp_path, {}, log.append)
    holders.now()
    place = paths.under(tmp_path, paths.OPERATION)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("{")
    assert holders.adopt([Told(4, {A: ("absent: a",)})]) == []
    assert "What operations decided without this box cannot be followed." in log[0]
