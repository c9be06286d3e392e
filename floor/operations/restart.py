"""`floor restart`: start copies anew, one at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from floor.box.lease import LIVE
from floor.config.model import Config
from floor.errors import UsageError
from floor.operations.caller import dead
from floor.operations.change import Change
from floor.operations.execute import LOST_POLL
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.operations.trials import trials
from floor.plan.aim import Aim
from floor.plan.preflight import restart_problems
from floor.plan.restart import plan_restart, restarted
from floor.plan.seen import OperationSeen
from floor.plan.steps import Plan

Say = Callable[[str], None]


def restart(
    site: Site, names: Sequence[str], say: Say, progress: Say, *, dry_run: bool = False, force: bool = False
) -> Outcome:
    """Given backends, boxes or models (none: all), start those copies anew, or say what that would take.

    Raise UsageError for a name that is none of these, and as `Change.run` does.
    """
    choose(site.loaded.config, names)  # wrong words are told before any box is asked
    change = restarting(site, names, say, progress, force=force)
    aim, plan = change.look()
    chosen = choose(aim.config, names, aim.mode)
    complete = set(chosen) <= set(change.target) and not _missed(aim, names)
    if dry_run or not (plan or change.resumes):
        return Outcome(plan, complete=complete)
    for note in plan.notes:
        say(f"note: {note}")
    last = change.run(aim, plan)
    say("done")
    return Outcome(plan, True, complete and not _missed(last, names))


def restarting(site: Site, names: Sequence[str], say: Say, progress: Say, *, force: bool) -> Change:
    """Given backends, boxes or models (none: all), return the change that `floor restart` makes.

    A restart of just these that was interrupted goes on where it stopped: what it had done is not done twice, and a
    note says so. Raise UsageError for a name that is none of these.
    """
    aim = site.observe(patience=LOST_POLL)
    chosen = choose(aim.config, names, aim.mode)
    present = {copy.backend: aim.seen[copy.box].unit(copy.unit).invocation for copy in aim.copies}
    before = {backend: present[backend] for backend in chosen if backend in present}
    notes: tuple[str, ...] = ()
    if (left := unfinished(aim, chosen)) is not None:
        before = dict(left.target)
        done = [copy.backend for copy in aim.copies if copy.backend in before and _done(aim, copy.backend, before)]
        notes = (f"goes on with operation {left.epoch} of {left.who}, which had restarted {', '.join(done) or 'none'}",)

    def planner(now: Aim) -> Plan:
        plan = plan_restart(now, before)
        return dataclasses.replace(plan, notes=(*notes, *plan.notes))

    def problems(now: Aim) -> list[str]:
        return restart_problems(now, before) or trials(site, now, planner(now), say, progress, force=force)

    return Change("restart", site, None, planner, say, progress, before, force, problems, resumes=left is not None)


def choose(config: Config, names: Sequence[str], mode: str | None = None) -> list[str]:
    """Given names of backends, boxes or models, return the managed backends that they mean; all for no name.

    Given a mode, only of those that answer in it. Raise UsageError for a name that is none of these.
    """
    copies = [copy for model in config.models for copy in config.backends(model, mode) if copy.managed]
    for name in names:
        if not any(name in (copy.backend, copy.box, copy.model) for copy in copies):
            known = ", ".join(copy.backend for copy in copies)
            raise UsageError(f"{name}: no managed backend, box or model of that name; there are {known}")
    return [copy.backend for copy in copies if not names or {copy.backend, copy.box, copy.model} & set(names)]


def _missed(aim: Aim, names: Sequence[str]) -> bool:
    """Whether a box that did not answer holds one of the backends that are meant."""
    chosen = choose(aim.config, names, aim.mode)
    boxes = {box for backend in chosen for box in backend.rpartition("@")[2].split("+")}
    return bool(boxes & set(aim.absent))


def unfinished(aim: Aim, chosen: Sequence[str]) -> OperationSeen | None:
    """The last operation on these boxes, where it had set out to restart just `chosen` and some of that is left to do.

    One that is at work is not meant, unless it was this user's and its process is dead.
    """
    records = [seen.operation for seen in aim.seen.values() if seen.operation]
    last = max(records, key=lambda record: record.epoch, default=None)
    if last is None or last.verb != "restart" or last.state == "done" or not isinstance(last.target, dict):
        return None
    if (last.live and not dead(last.by)) or set(last.target) != set(chosen):
        return None
    # with nothing left it is over, and this is another restart; unless nobody has heard that it was
    return last if last.state == LIVE or plan_restart(aim, last.target) else None


def _done(aim: Aim, backend: str, before: Mapping[str, str]) -> bool:
    copy = next(copy for copy in aim.copies if copy.backend == backend)
    return restarted(aim, copy, before[backend])
