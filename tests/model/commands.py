"""Commands of `floor` on simulated boxes, whole: each is a process of its own and ends with an exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from floor.errors import FloorError, RefusedError
from floor.operations import drain, reboot, removal, restart
from floor.operations.swap_edit import Wish
from tests.simulated.caller import KilledError
from tests.simulated.situation import Situation

KILLED = -9
Command = Callable[[Situation], int]


def deploy(situation: Situation) -> int:
    return ended(situation, lambda: 0 if situation.deploy_all().complete else 1)


def forced(situation: Situation) -> int:
    return ended(situation, lambda: 0 if situation.deploy_all(force=True).complete else 1)


def restarted(situation: Situation) -> int:
    given = situation.said.append, situation.progress.append
    return ended(situation, lambda: 0 if restart.restart(situation.site(), [], *given).complete else 1)


def rebooted(situation: Situation) -> int:
    """`floor reboot spark-a spark-b`."""
    given = situation.said.append, situation.progress.append
    boxes = ["spark-a", "spark-b"]
    return ended(situation, lambda: 0 if reboot.reboot(situation.site(), boxes, *given).complete else 1)


def aborted(situation: Situation) -> int:
    """`floor deploy --abort`; where nothing is left to be ended that is fine."""
    code = ended(situation, lambda: 0 if situation.abort().complete else 1)
    return 0 if code == RefusedError.exit_code and "nothing was left unfinished" in situation.said[-1] else code


def switched(mode: str) -> Command:
    """`floor switch MODE`."""

    def command(situation: Situation) -> int:
        return ended(situation, lambda: 0 if situation.switch(mode).complete else 1)

    return command


def switched_back(situation: Situation) -> int:
    """`floor switch --abort`; where nothing is left to be ended that is fine."""
    code = ended(situation, lambda: 0 if situation.switch_back().complete else 1)
    return 0 if code == RefusedError.exit_code and "no switch was left unfinished" in situation.said[-1] else code


def swapped(wish: Wish) -> Command:
    """`floor swap flagship` with something to change."""

    def command(situation: Situation) -> int:
        return ended(situation, lambda: 0 if situation.swap("flagship", wish).complete else 1)

    return command


def blocked(wish: Wish) -> Command:
    """The same with a build that does not pass: that it went back is what is wanted."""

    def command(situation: Situation) -> int:
        code = swapped(wish)(situation)
        last = situation.said[-1] if situation.said else ""
        went_back = "the build before it is back on every copy" in last or "that is done now" in last
        return 0 if code in (FloorError.exit_code, RefusedError.exit_code) and went_back else code

    return command


def drained(situation: Situation) -> int:
    def work() -> int:
        site = situation.site()
        drain.drain(site, drain.find(site, "spark-b"), situation.said.append, last=False)
        return 0

    return ended(situation, work)


def undrained(situation: Situation) -> int:
    def work() -> int:
        site = situation.site()
        drain.undrain(site, drain.find(site, "spark-b"), situation.said.append)
        return 0

    return ended(situation, work)


def removed(situation: Situation) -> int:
    """`floor remove spark-b --yes`."""

    def take_off(box: str, *_given: object, **_named: Any) -> bool:
        situation.box(box).wipe()
        return True

    def work() -> int:
        given = situation.said.append, situation.progress.append, lambda _: True
        box = "spark-b"
        removal.remove(situation.site(), box, *given, yes=True, purge=False, force=False, take_off=take_off)
        return 0

    return ended(situation, work)


def ended(situation: Situation, work: Callable[[], int]) -> int:
    """Run `work` as a process does, and return the code that it ends with."""
    try:
        return work()
    except FloorError as error:
        situation.said.append(f"error: {error}")
        return error.exit_code
    except KilledError:
        return KILLED
