"""`floor reboot`: boxes are rebooted, one at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from floor.box.lease import LIVE
from floor.config.model import Config
from floor.errors import BoxError, RefusedError, UsageError
from floor.operations.caller import boot, dead
from floor.operations.change import Change
from floor.operations.lease import Lease
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.plan.aim import Aim
from floor.plan.reboot import BOOT_SECONDS, plan_reboot, reboot_problems
from floor.plan.seen import OperationSeen
from floor.plan.steps import Plan

Say = Callable[[str], None]
LOOK_EVERY = 2.0  # seconds between two looks for a box that a reboot before has left on its way


def reboot(
    site: Site, boxes: Sequence[str], say: Say, progress: Say, *, dry_run: bool = False, force: bool = False
) -> Outcome:
    """Given names of boxes, reboot them one after the other, or say what that would take.

    Raise UsageError for a name that is no managed box, RefusedError for the machine that this runs on and for the only
    proxy without `force`, BoxError where one of them does not answer, and as `Change.run` does.
    """
    change = rebooting(site, boxes, say, progress, force=force)
    aim, plan = change.look()
    if not (dry_run or plan):
        _end(change, aim)
    if dry_run or not plan:
        return Outcome(plan)
    for note in plan.notes:
        say(f"note: {note}")
    change.run(aim, plan)
    say("done")
    return Outcome(plan, True)


def rebooting(site: Site, boxes: Sequence[str], say: Say, progress: Say, *, force: bool) -> Change:
    """Given names of boxes, return the change that `floor reboot` makes.

    One of just these boxes that was interrupted goes on where it stopped: the record of the operation holds the boots
    that it began with, so no box is rebooted twice. Raise as `reboot` does.
    """
    chosen = choose(site.loaded.config, boxes)
    aim = _present(site, chosen, progress)
    before = {box: aim.seen[box].boot for box in chosen}
    notes: tuple[str, ...] = ()
    if (left := unfinished(aim, chosen)) is not None:
        before = dict(left.target)
        done = [box for box in chosen if aim.seen[box].boot != before[box]]
        notes = (f"goes on with operation {left.epoch} of {left.who}, which had rebooted {', '.join(done) or 'none'}",)
    _refuse(aim, before, force=force)

    def planner(now: Aim) -> Plan:
        plan = plan_reboot(now, before)
        return dataclasses.replace(plan, notes=(*notes, *plan.notes))

    return Change("reboot", site, None, planner, say, progress, before, force, reboot_problems)


def choose(config: Config, names: Sequence[str]) -> list[str]:
    """Given names, return the managed boxes of these names, in the config's order. Raise UsageError for another."""
    managed = [name for name, box in config.boxes.items() if box.managed]
    for name in names:
        if name not in managed:
            raise UsageError(f"{name}: no managed box of that name; there are {', '.join(managed)}")
    return [name for name in managed if name in names]


def _present(site: Site, chosen: Sequence[str], progress: Say) -> Aim:
    """Look until every chosen box answers. One that a reboot before has left on its way is waited for.

    Raise BoxError where another one does not answer, or where it does not come back in time.
    """
    began = site.clock()
    while True:
        aim = site.observe()
        away = [box for box in chosen if box in aim.absent]
        if not away:
            return aim
        last = _last(aim)
        theirs = last is not None and _resumes(last, chosen)
        if not theirs or site.clock() - began > BOOT_SECONDS:
            told = "\n".join(aim.absent[box] for box in away)
            raise BoxError(f"nothing was rebooted: {told}")
        progress(f"  {', '.join(away)}: on the way up, trying again")
        site.sleep(LOOK_EVERY)


def _last(aim: Aim) -> OperationSeen | None:
    """The last operation on the boxes that answer; done where any box says so: it died while it gave them back."""
    records = [seen.operation for seen in aim.seen.values() if seen.operation]
    return max(records, key=lambda record: (record.epoch, record.state == "done"), default=None)


def _resumes(last: OperationSeen, chosen: Sequence[str]) -> bool:
    """Whether the last operation was a reboot of just `chosen` that did not come to its end.

    One that is at work is not meant, unless it was this user's and its process is dead.
    """
    if last.verb != "reboot" or last.state == "done" or not isinstance(last.target, dict):
        return False
    return set(last.target) == set(chosen) and not (last.live and not dead(last.by))


def unfinished(aim: Aim, chosen: Sequence[str]) -> OperationSeen | None:
    """The last operation on these boxes, where it had set out to reboot just `chosen` and did not come to its end.

    One that failed and has nothing left to do is over: this is another reboot. One that died is not, whatever is left.
    """
    last = _last(aim)
    if last is None or not _resumes(last, chosen):
        return None
    return last if last.state == LIVE or plan_reboot(aim, last.target) else None


def _end(change: Change, aim: Aim) -> None:
    """Nothing is left of an operation that died at its very end: give it that end, so that the next one is another."""
    with Lease(change.site, aim.seen, change.verb, change.target, "") as lease:
        lease.state = "done"


def _refuse(aim: Aim, before: Mapping[str, str], *, force: bool) -> None:
    """Raise RefusedError for what must not be rebooted from here."""
    left = [box for box, id_ in before.items() if aim.seen[box].boot == id_]
    for box in left:
        if before[box] == boot():
            raise RefusedError(
                f"{box} is the machine that this runs on, and floor would go down with it; run `systemctl reboot` on "
                "it, which takes its copies out of the pools first, or run `floor reboot` from another machine"
            )
        if not force and (only := _only(aim, box)):
            raise RefusedError(f"{box} is {only}: nobody reaches any model until it is back; accept that with --force")


def _only(aim: Aim, box: str) -> str:
    """What a box is that no other proxy stands in for; empty for any other box."""
    if aim.config.proxy.boxes == [box]:
        return "the only proxy"
    serving = [seen.box for seen in aim.proxies if seen.unit("floor-proxy.service").running]
    return "the only proxy that serves" if serving == [box] else ""
