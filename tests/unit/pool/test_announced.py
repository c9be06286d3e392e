"""What clients are told while a switch keeps a model away: as long as its lease lives, and never after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.box import away, paths
from floor.box.away import Away
from floor.box.locked import mine
from floor.box.operation import Operation
from floor.errors import FloorError
from floor.pool.announced import Announced
from floor.pool.members import read, text
from tests.unit.pool.documents import backend, settings

SOCKET = "/run/floor/nginx/empty.sock"
AT = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


def operation(root: Path, epoch: int) -> Operation:
    made = Operation(root, owner=mine())
    by = {"user": "ops", "host": "laptop", "pid": 1, "started": None}
    wanted: dict[str, Any] = {"epoch": epoch, "verb": "switch", "target": None, "config": "", "by": by}
    made.take(wanted | {"takeover": None, "lease": 90.0})
    return made


def test_nothing_was_announced(tmp_path: Path) -> None:
    assert Announced(tmp_path, pytest.fail).now() == {}


def test_of_a_swap_other_words_are_told(tmp_path: Path) -> None:
    operation(tmp_path, 12)
    away.announce({"flagship": Away(12, AT, "swap")}, tmp_path)
    body = json.loads(Announced(tmp_path, pytest.fail).now()["flagship"])["error"]
    assert body["message"].startswith(
        "This model is getting another build and should answer again at about 22:13:20 UTC"
    )


def test_it_holds_as_long_as_the_operation(tmp_path: Path) -> None:
    announced = Announced(tmp_path, pytest.fail)
    switch = operation(tmp_path, 12)
    away.announce({"flagship": Away(12, AT, "split")}, tmp_path)
    body = json.loads(announced.now()["flagship"])["error"]
    assert body["message"] == (
        "This model is being switched to mode split and should answer again at about 22:13:20 UTC. "
        "Retry after the seconds in Retry-After."
    )
    assert (body["code"], body["type"], body["expected_at"]) == (503, "service_unavailable_error", AT)
    switch.release(12, "done")
    assert announced.now() == {}


def test_what_an_older_operation_said_is_over(tmp_path: Path) -> None:
    away.announce({"flagship": Away(11, AT, "split")}, tmp_path)
    operation(tmp_path, 12)
    assert Announced(tmp_path, pytest.fail).now() == {}


def test_a_file_that_is_damaged_says_nothing_to_clients(tmp_path: Path) -> None:
    operation(tmp_path, 12)
    place = paths.under(tmp_path, paths.AWAY)
    place.write_text("[1]")
    log: list[str] = []
    assert Announced(tmp_path, log.append).now() == {}
    told = "is no announcement ('list' object has no attribute 'items'); remove it, the next switch writes it anew"
    assert log == [f"{place}: {told}"]
    with pytest.raises(FloorError):
        away.read(tmp_path)


def test_the_members_file_answers_for_a_model_that_is_away() -> None:
    pools = settings(backend("flagship@a", "192.0.2.11")).pools
    made = text(pools, ["flagship@a"], SOCKET, away={"flagship": '{"error": "it\'s $away"}'})
    assert "server unix:/run/floor/nginx/away-" in made
    assert "listen unix:/run/floor/nginx/away-" in made
    assert "return 503 " in made
    assert read(pools, made) == {"flagship@a"}
    assert "away" not in text(pools, ["flagship@a"], SOCKET, away={"other": "x"})
