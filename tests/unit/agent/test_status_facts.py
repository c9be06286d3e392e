"""What a box tells is gathered once for all that ask at a time."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from floor.agent.status_facts import FRESH, QUICK, SETTLED, Facts, Part, pooled, told
from floor.box import drains, leaving, parts, paths
from floor.box.operation import Operation
from floor.box.units import UnitFacts, parse
from floor.errors import FloorError

UNIT = "floor-copy-flagship.service"


class Systemd:
    def __init__(self) -> None:
        self.calls = 0
        self.error = ""
        self.active, self.sub, self.stops = "active", "", False
        self.asked = 0
        self.now = 100.0

    def show(self, names: Sequence[str]) -> dict[str, UnitFacts]:
        self.calls += 1
        if self.error:
            raise FloorError(self.error)
        state = f"ActiveState={self.active}\nSubState={self.sub}\nInvocationID=a1"
        return parse(names, "\n\n".join(f"Id={name}\n{state}" for name in names))

    def stopping(self) -> bool:
        self.asked += 1
        return self.stops


def facts(systemd: Systemd, root: Path) -> Facts:
    return Facts([UNIT], root, lambda: systemd.now, systemd.show, systemd.stopping)


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


@pytest.mark.parametrize("active", ["activating", "deactivating"])
def test_while_a_unit_comes_or_goes_systemd_is_asked_more_often(tmp_path: Path, active: str) -> None:
    systemd = Systemd()
    systemd.active = active

    async def ask() -> list[int]:
        one, calls = facts(systemd, tmp_path), []
        for at, then in ((0, active), (0.5, active), (1.5, "active"), (3, "active")):
            systemd.now, systemd.active = 100.0 + at * QUICK, then
            await one.now()
            calls.append(systemd.calls)
        return calls

    assert asyncio.run(ask()) == [1, 1, 2, 2]


def test_one_that_goes_on_coming_is_asked_for_more_often_for_a_minute_only(tmp_path: Path) -> None:
    """A part may wait at its gate for hours; when the gate opens, or is come to anew, others wait for it again."""
    systemd = Systemd()
    systemd.active, systemd.sub = "activating", "start-pre"
    one = Facts([UNIT], tmp_path, lambda: systemd.now, systemd.show, groups=[Part("flagship", "worker", UNIT)])

    async def often() -> bool:
        before = systemd.calls
        for _ in range(4):
            systemd.now += 1.01 * QUICK
            await one.now()
        return systemd.calls == before + 4

    async def ask() -> list[bool]:
        found = [await often()]
        for change in (nothing, opens, mark):
            systemd.now += SETTLED
            found.append(await often())
            change()
            systemd.now += FRESH
            await one.now()
            found.append(await often())
        return found

    def nothing() -> None:
        """It waits on."""

    def opens() -> None:
        systemd.sub = "start-post"

    def mark() -> None:
        parts.put("flagship", parts.Mark("a1", going=False, generation=None), tmp_path)

    assert asyncio.run(ask()) == [True, False, False, False, True, False, True]


def test_a_part_that_comes_to_its_gate_is_told_at_once(tmp_path: Path) -> None:
    """The others wait for just that, and what systemd said before is of the start before."""
    systemd = Systemd()
    systemd.active = "inactive"

    async def ask() -> list[str]:
        part = [Part("flagship", "worker", UNIT)]
        one = Facts([UNIT], tmp_path, lambda: systemd.now, systemd.show, systemd.stopping, part)
        phases = [(await one.now())["groups"]["flagship"]["phase"]]
        parts.put("flagship", parts.Mark("a1", going=False, generation=None), tmp_path)
        systemd.active, systemd.now = "activating", systemd.now + 2 * QUICK
        phases.append((await one.now())["groups"]["flagship"]["phase"])
        return phases

    assert asyncio.run(ask()) == ["down", "waiting"]


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


@pytest.mark.parametrize(
    ("active", "invocation", "told"),
    [
        ("active", "a1", True),
        ("deactivating", "a1", True),
        ("inactive", "a1", False),
        ("active", "of a start before", False),
    ],
)
def test_a_copy_that_leaves_is_told_while_it_does(tmp_path: Path, active: str, invocation: str, told: bool) -> None:
    leaving.put(paths.LEAVING, UNIT, leaving.Mark(invocation, 7.5, 1.0), tmp_path)
    systemd = Systemd()
    systemd.active = active
    assert asyncio.run(facts(systemd, tmp_path).now())["leaving"] == ({UNIT: 7.5} if told else {})


def test_it_is_told_before_systemd_is_asked_again(tmp_path: Path) -> None:
    systemd = Systemd()

    async def ask() -> object:
        one = facts(systemd, tmp_path)
        await one.now()
        leaving.put(paths.LEAVING, UNIT, leaving.Mark("a1", 7.5, 1.0), tmp_path)
        systemd.now += 2 * QUICK
        return (await one.now())["leaving"]

    assert asyncio.run(ask()) == {UNIT: 7.5}
    assert systemd.calls == 1


@pytest.mark.parametrize(("active", "asked"), [("active", 0), ("deactivating", 1)])
def test_whether_the_machine_goes_down_is_asked_when_a_unit_goes(tmp_path: Path, active: str, asked: int) -> None:
    systemd = Systemd()
    systemd.active, systemd.stops = active, True
    assert asyncio.run(facts(systemd, tmp_path).now())["stopping"] is bool(asked)
    assert systemd.asked == asked


def test_who_holds_the_box_is_told(tmp_path: Path) -> None:
    by = {"user": "ada", "host": "laptop", "pid": 7, "started": 1.0}
    Operation(tmp_path).take({"epoch": 3, "verb": "restart", "target": {"x": 1}, "config": "", "by": by})
    told = asyncio.run(facts(Systemd(), tmp_path).now())["operation"]
    who = {"user": "ada", "host": "laptop", "pid": 7}
    assert told == {"by": who, "epoch": 3, "verb": "restart", "state": "live", "live": True}


def test_what_a_pool_says_of_each_backend_is_told_with_its_age() -> None:
    backends = {"m@a": {"reason": "ok", "evidence": "…"}, "m@b": {"reason": "leaving", "evidence": "…"}}
    state = {"at": 100.0, "pools": {"m": {"members": ["m@a"], "backends": backends}}, "acknowledged": {"m@b": True}}
    assert pooled(state, 101.5) == {
        "age": 1.5,
        "backends": {
            "m@a": {"member": True, "acknowledged": False, "reason": "ok"},
            "m@b": {"member": False, "acknowledged": True, "reason": "leaving"},
        },
    }
    with pytest.raises(FloorError, match=r"state\.json: is not a report of floor-pool \(KeyError\('pools'\)\)"):
        pooled({"at": 1.0}, 1.0)


def test_what_people_were_told_from_here_is_told_while_its_watchdog_looks(tmp_path: Path) -> None:
    told_once = {"text": "x", "since": 1.0, "seen": 90.0, "told": 61.0}
    state = {"at": 100.0, "told": {"open": {"lost m@b": told_once, "nobody m": {**told_once, "told": None}}}}
    assert [told(state, at) for at in (99.0, 110.0, 399.0, 401.0)] == [[], ["lost m@b"], ["lost m@b"], []]
    assert (told(None, 1.0), told({"at": 100.0, "told": {}}, 110.0)) == ([], [])
    place = paths.under(tmp_path, paths.WATCHDOG_STATE)
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({**state, "at": time.time()}))
    assert asyncio.run(facts(Systemd(), tmp_path).now())["told"] == ["lost m@b"]
