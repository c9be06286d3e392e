"""Which part the service looks at, and whom it leaves to others."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from floor.box import parts, units
from floor.box.notify import Notifier
from floor.box.parts import Mark, Phase, Told
from floor.group import service
from floor.group.decide import Look
from floor.group.settings import Group, Other, Settings

UNIT = "floor-group-flagship.service"
GROUP = Group("flagship", "head", UNIT, None, (Other("c", "http://198.51.100.3:8099/status"),))
DOWN = Told("worker", UNIT, Phase.DOWN)


class Nobody:
    """Every other part is down."""

    def __init__(self, group: Group, _clock: object) -> None:
        self._group = group

    def look(self, _keys: object) -> dict[str, Look]:
        return {other.box: Look(DOWN) for other in self._group.others}

    def forget(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""


class Once(Notifier):
    """Stops the service after one look."""

    def __init__(self, one: service.Service) -> None:
        super().__init__()
        self._one = one

    def alive(self, _words: str = "") -> None:
        self._one.stop()


def made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mark: Mark,
    others: type,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[service.Service, list[str], list[str]]:
    """The service of a part that runs under start `s`, what it ended and what it said."""
    shown = units.parse([UNIT], f"Id={UNIT}\nLoadState=loaded\nActiveState=active\nSubState=running\nInvocationID=s\n")
    key = tmp_path / "etc/floor/status.key"
    key.parent.mkdir(parents=True)
    key.write_text("key\n")
    orders: list[str] = []
    said: list[str] = []
    monkeypatch.setattr(service, "Others", others)
    monkeypatch.setattr(units, "show", lambda _names: shown)
    monkeypatch.setattr(service, "end", lambda group, _start: orders.append(group.unit))
    parts.put("flagship", mark, tmp_path)
    one = service.Service(Settings(Path("/etc/floor/status.key"), (GROUP,)), tmp_path, said.append, clock)
    return one, orders, said


def looked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: Mark, others: type
) -> tuple[list[str], list[str]]:
    """Let the service look once; return what it ended and what it said."""
    one, orders, said = made(tmp_path, monkeypatch, mark, others)
    one.run(Once(one))
    return orders, said


@pytest.mark.parametrize(("among", "ended"), [(("c",), True), ((), True), (("b",), False), (("b", "c"), False)])
def test_a_part_that_serves_with_other_boxes_is_not_ended_for_those_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, among: tuple[str, ...], *, ended: bool
) -> None:
    """`floor deploy` writes the settings first, then drains what runs."""
    orders, said = looked_once(tmp_path, monkeypatch, Mark("s", True, "g", among=among), Nobody)
    assert bool(orders) is ended
    assert any("group.json names c" in words for words in said) is not ended


class Silent(Nobody):
    """There is no way to any other part."""

    def look(self, _keys: object) -> dict[str, Look]:
        return {other.box: Look(DOWN, away=9.0) for other in self._group.others}


@pytest.mark.parametrize(
    ("others", "leaves", "start", "ended"),
    [
        (Silent, False, "s", True),
        (Silent, True, "s", False),  # a deployment takes it away: rules and status ports change first
        (Nobody, True, "s", True),  # what is told counts all the same
        (Silent, True, "another", True),  # that start has gone
    ],
)
def test_around_a_group_that_goes_no_silence_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: type, start: str, *, leaves: bool, ended: bool
) -> None:
    mark = Mark(start, True, "g", among=("c",), leaves=leaves)
    assert bool(looked_once(tmp_path, monkeypatch, mark, others)[0]) is ended


class Leaving(Nobody):
    """Another part is being stopped."""

    def look(self, _keys: object) -> dict[str, Look]:
        return {other.box: Look(Told("worker", UNIT, Phase.STOPPING, "s", "g")) for other in self._group.others}


class Fine(Nobody):
    """Every other part runs."""

    def look(self, _keys: object) -> dict[str, Look]:
        return {other.box: Look(Told("worker", UNIT, Phase.RUNNING, "s", "g")) for other in self._group.others}


@pytest.mark.parametrize(("others", "every"), [(Leaving, service.SOON), (Fine, service.EVERY)])
def test_the_end_of_a_part_that_is_being_stopped_is_seen_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: type, every: float
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(service.threading.Event, "wait", lambda _event, seconds: waits.append(seconds))
    looked_once(tmp_path, monkeypatch, Mark("s", True, "g", among=("c",)), others)
    assert waits == [pytest.approx(every, abs=0.15)]


def test_one_that_goes_on_being_stopped_is_looked_at_as_before_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finishes what it has, however long its requests are. The next one is looked at soon again."""
    now, waits = 1000.0, [0.0]
    one, _, _ = made(tmp_path, monkeypatch, Mark("s", True, "g", among=("c",)), Leaving, lambda: now)
    leaving = Leaving.look

    def wait(_event: object, seconds: float) -> None:
        nonlocal now
        waits.append(seconds)
        now += 25
        monkeypatch.setattr(Leaving, "look", Fine.look if len(waits) == 6 else leaving)
        if len(waits) == 8:
            one.stop()

    monkeypatch.setattr(service.threading.Event, "wait", wait)
    one.run(Notifier())
    soon, every = service.SOON, service.EVERY
    assert waits[1:] == [soon, soon, soon, every, every, every, soon]
