"""What can happen at any call of a command: to its process, to the box that is asked, and on the way between them."""

from __future__ import annotations

from collections.abc import Callable

from floor.apply.transport import UnreachableError
from tests.model.commands import Command
from tests.simulated.situation import Situation, asleep

Fault = Callable[[Situation, str], None]
LEASE = 100.0  # seconds after which a lease has lapsed for certain
LONGEST = 400.0  # and one of an operation that has rebooted the box


def killed(situation: Situation, _box: str) -> None:
    """SIGKILL."""
    situation.caller.kill()


def lost(_situation: Situation, box: str) -> None:
    """The request, or its answer, is lost once."""
    raise UnreachableError(f"{box}: lost on the way")


def away_for_a_moment(situation: Situation, box: str) -> None:
    situation.world.cut_off(box, 20)


def away(situation: Situation, box: str) -> None:
    """No way there for longer than any command waits."""
    situation.world.cut_off(box, 120)


def power_cut(situation: Situation, box: str) -> None:
    situation.world.power_cut(box, 12)


def slept(situation: Situation, _box: str) -> None:
    """The process sleeps until its lease has lapsed; nobody else does anything."""
    with asleep(situation):
        situation.world.sleep(LEASE, 10)


def overtaken(by: Command, edit: Callable[[Situation], None]) -> Fault:
    """The process sleeps, and meanwhile another one brings `by` to its end, with floor.yaml as `edit` leaves it."""

    def fault(situation: Situation, _box: str) -> None:
        other = situation.other = Situation(situation.world, situation.text)
        edit(other)
        with asleep(situation):
            situation.world.sleep(LONGEST, 10)
            code = by(other)
            if code:
                situation.world.wrong.append(f"the other command ended with {code}: {other.said[-1:]}")
        situation.caller.stale = True

    return fault
