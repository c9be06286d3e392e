"""`floor switch`: from a copy on each box to one model over several boxes, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from floor.desired.build import demand
from floor.desired.state import MODES
from floor.errors import BoxError, BusyError, RefusedError
from floor.operations.agreement import disagreements, starting
from floor.operations.caller import dead
from floor.operations.change import Change
from floor.operations.deploy import carried_out, install_releases, means_the_same
from floor.operations.execute import LOST_POLL
from floor.operations.foreign import Meeting
from floor.operations.launch import launch_refusals
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.operations.trials import trials
from floor.plan import preflight
from floor.plan.abandoned import ABORT, SWAP, SWAP_BACK, SWITCH, SWITCH_BACK, finishing, switched, unfinished
from floor.plan.aim import Aim
from floor.plan.modes import switching as in_other_mode
from floor.plan.seen import OperationSeen, Seen
from floor.plan.steps import Plan
from floor.plan.switch import accepted, obstacles, plan_switch

Say = Callable[[str], None]


def switch(site: Site, mode: str, say: Say, progress: Say, *, dry_run: bool, force: bool) -> Outcome:
    """Given the site and the mode to come, bring every box there, or say what that would take. The same command goes on
    with a switch that was left.

    Raise UsageError for what is no mode, RefusedError where no model is split, where floor.yaml is not what is
    deployed, where a deployment was left unfinished or a box that the switch needs does not answer; and as `Change.run`
    does.
    """
    demand(mode)
    return _towards(site, mode, say, progress, dry_run=dry_run, force=force)


def switch_back(site: Site, say: Say, progress: Say, *, dry_run: bool, force: bool) -> Outcome:
    """Given the site, plan the way back of a switch that was left from what is seen, and carry it out, or say what that
    would take. Raise RefusedError where none was left, BusyError where somebody is at work; and as `switch` does."""
    _refuse_without_split(site)
    seen = site.observe(MODES[0], patience=LOST_POLL, switch=True).seen
    left = _left(seen)
    mode = str(left.target["mode"] if left.verb == SWITCH_BACK else left.target["from"])
    say(f"ends operation {left.epoch}, floor {left.verb} of {left.who}, and goes back to mode {mode}")
    return _towards(site, mode, say, progress, dry_run=dry_run, force=force, verb=SWITCH_BACK)


def modes(site: Site) -> dict[str, Any]:
    """Look at every box. Return {"boxes": {name: mode, None where it has none}, "absent": {name: why}, "unfinished":
    how a switch that was left is ended, None where none was, "at_work": who changes the boxes just now}. Raise
    BoxError where no box answers."""
    answers = site.each(site.boxes, lambda _box, transport: transport.call("observe", {}))
    told = {box: answer for box, answer in answers.items() if not isinstance(answer, BoxError)}
    if not told:
        raise BoxError("no box answers:\n" + "\n".join(str(answer) for answer in answers.values()))
    aim = site.observe(MODES[0], among=list(told), switch=True)
    left = unfinished(aim.seen)
    return {
        "boxes": {box: answer.get("mode") for box, answer in told.items()},
        "absent": {box: str(answer) for box, answer in answers.items() if isinstance(answer, BoxError)},
        "unfinished": None if left and _works(left) else switched(left) or None,
        "at_work": f"{left.who}: floor {left.verb}, operation {left.epoch}" if left and _works(left) else None,
    }


def _towards(
    site: Site, mode: str, say: Say, progress: Say, *, dry_run: bool, force: bool, verb: str = SWITCH
) -> Outcome:
    _refuse_without_split(site)
    carried = tuple(install_releases(site, say, dry_run=dry_run))
    if dry_run and carried:
        return Outcome(Plan(), carried=carried)
    meeting = Meeting(site, take_over=False)
    change = switching(site, mode, say, progress, force=force, verb=verb, meeting=meeting)
    aim, plan = change.look()
    _refuse(site, aim)
    change.accepted = accepted(aim)
    change.target = {"mode": mode, "from": _before(aim)}
    return carried_out(change, aim, meeting.told(aim, plan), carried, dry_run=dry_run)


def _before(aim: Aim) -> str:
    """The mode that an abort goes back to: the other one, unless every box was in this one before the switch."""
    left = unfinished(aim.seen)
    if left is not None and left.verb == SWITCH and left.target["mode"] == aim.mode:
        return str(left.target["from"])
    other = next(each for each in MODES if each != aim.mode)
    return other if switched(left) or in_other_mode(aim) else aim.mode


def switching(
    site: Site, mode: str, say: Say, progress: Say, *, force: bool, verb: str = SWITCH, meeting: Meeting | None = None
) -> Change:
    """Given the site and the mode to come, return the change that `floor switch` makes."""
    met = meeting or Meeting(site, take_over=False)

    def problems(aim: Aim) -> list[str]:
        found = [*preflight.problems(aim, met.held()), *met.problems(aim, force=force), *launch_refusals(site, aim)]
        plan = plan_switch(aim)
        found = found or disagreements(site, aim, starting(aim.config, plan), say, progress, force=force)
        return found or trials(site, aim, plan, say, progress, force=force)

    return Change(verb, site, mode, plan_switch, say, progress, None, force, problems, also=met.into, switch=True)


def _refuse(site: Site, aim: Aim) -> None:
    left = unfinished(aim.seen)
    if left is not None and left.verb in ("deploy", ABORT, SWAP, SWAP_BACK) and not (left.live and not dead(left.by)):
        raise RefusedError(
            f"floor {left.verb} of {left.who}, operation {left.epoch}, did not end: "
            f"`{finishing(left.verb, left.target)}` goes on with it; switch after that"
        )
    current = {box for box, seen in aim.seen.items() if means_the_same(site, seen.config)}
    missed = set(in_other_mode(aim)) if current - set(in_other_mode(aim)) else set()
    for box, seen in aim.seen.items():
        # One that was away during a switch and a deployment after it comes along: `floor deploy` refuses two modes.
        if box not in current | missed:
            what = "nothing was deployed there yet" if seen.config is None else "another floor.yaml was deployed there"
            raise RefusedError(f"{box}: {what}; run `floor deploy` first: a switch changes the mode and nothing else")
    if found := obstacles(aim):
        raise RefusedError("\n".join(found))


def _refuse_without_split(site: Site) -> None:
    if not site.loaded.config.splits and len({mode for mode in modes(site)["boxes"].values() if mode}) < 2:
        raise RefusedError(
            f"{site.loaded.path}: no model has `split`: there is nothing to switch; write which boxes share one"
        )


def _works(left: OperationSeen) -> bool:
    return left.live and not dead(left.by)


def _left(seen: Mapping[str, Seen]) -> OperationSeen:
    left = unfinished(seen)
    if left is None or not switched(left):
        raise RefusedError(
            "no switch was left unfinished: the last one on these boxes is done; `floor switch MODE` switches"
        )
    if _works(left):
        raise BusyError(
            f"{left.who} (pid {left.by.get('pid')}) is at work: floor {left.verb}, operation {left.epoch}; end that "
            "process first: its hold lapses within 90 s"
        )
    return left
