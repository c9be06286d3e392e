"""What a box tells is gathered once for all that ask at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from floor.agent.status_facts import FRESH, Facts
from floor.box import drains
from floor.box.units import UnitFacts, parse
from floor.errors import FloorError

UNIT = "floor-copy-flagship.service"


class Systemd:
    def __init__(self) -> None:
        self.calls = 0
        self.error = ""
        self.now = 100.0

    def show(self, names: Sequence[str]) -> dict[str, UnitFacts]:
        self.calls += 1
        if self.error:
            raise FloorError(self.error)
        return parse(names, "\n\n".join(f"Id={name}\nActiveState=active" for name in names))


def facts(systemd: Systemd, root: Path) -> Facts:
    return Facts([UNIT], root, lambda: systemd.now, systemd.show)


def test_many_that_ask_at_once_get_one_answer(tmp_path: Path) -> None:
    systemd = Systemd()

    async def ask() -> list[object]:
        one = facts(systemd, tmp_path)
        return list(await asyncio.gather(*(one.now() for _ in range(20))))

    answers = asyncio.run(ask())
    assert systemd.calls == 1
    assert all(answer is answers[0] for answer in answers)


def test_an_answer_grows_old(tmp_path: Path) -> None:
    systemd = Systemd()

    async def ask() -> None:
        one = facts(systemd, tmp_path)
        for at in (100.0, 100.0 + FRESH - 0.01, 100.0 + FRESH, 100.0 + 2 * FRESH):
            systemd.now = at
            await one.now()

    asyncio.run(ask())
    assert systemd.calls == 3


def test_a_systemd_that_cannot_be_asked_is_asked_again(tmp_path: Path) -> None:
    systemd = Systemd()

    async def ask() -> None:
        one = facts(systemd, tmp_path)
        systemd.error = "systemctl show: no answer"
        for _ in range(2):
            with pytest.raises(FloorError, match="no answer"):
                await one.now()
        systemd.error = ""
        assert (await one.now())["units"][UNIT]["active"] == "active"

    asyncio.run(ask())


def test_drains_are_told_as_they_lie_there(tmp_path: Path) -> None:
    drains.add("flagship@a", "deploy", 12, at=1.0, root=tmp_path)
    answer = asyncio.run(facts(Systemd(), tmp_path).now())
    assert answer["drains"] == {"flagship@a": [{"holder": "deploy", "epoch": 12, "at": 1.0}]}
    assert (answer["operation"], answer["problems"]) == (None, [])


def test_a_broken_operation_record_is_a_problem_beside_the_units(tmp_path: Path) -> None:
    (tmp_path / "var/lib/floor").mkdir(parents=True)
    (tmp_path / "var/lib/floor/operation.json").write_text("{")
    answer = asyncio.run(facts(Systemd(), tmp_path).now())
    assert answer["operation"] is None
    assert "operation.json: is not an operation record" in answer["problems"][0]
    assert UNIT in answer["units"]
