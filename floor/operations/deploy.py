"""`floor deploy`: bring the boxes to what floor.yaml says."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from floor.apply.wheels import Bundle, bundle
from floor.config.load import parse
from floor.desired.build import demand
from floor.errors import BoxError, ConfigError, RefusedError
from floor.operations import checks, layout_warnings
from floor.operations.address import address_refusals
from floor.operations.agreement import disagreements, starting
from floor.operations.caller import dead
from floor.operations.change import Change
from floor.operations.foreign import Meeting
from floor.operations.launch import launch_refusals
from floor.operations.nginx import nginx_refusals
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.operations.trials import trials
from floor.plan import builds, preflight, shared_address, tls
from floor.plan.abandoned import ABORT, digest, newest, unfinished, ways
from floor.plan.aim import Aim
from floor.plan.deploy import plan_deploy
from floor.plan.keys import key_problems
from floor.plan.seen import OperationSeen
from floor.plan.steps import Plan
from floor.pool.decide import LONGEST_WAIT

Say = Callable[[str], None]

# A copy that an operation which died held out comes back by itself; the pool may want it to serve steadily first.
RETURN_SECONDS = 5.0 + LONGEST_WAIT


def deploy(
    site: Site,
    mode: str | None,
    say: Say,
    progress: Say,
    *,
    dry_run: bool,
    force: bool,
    roll_back: bool,
    take_over: bool = False,
    begins: Callable[[], None] = lambda: None,
    ungated: bool = False,
) -> Outcome:
    """Given the site and the mode asked for, bring the boxes there, or say what that would take.

    With `take_over` what others run in the way is stopped and disabled as part of it. `begins` is called when nothing
    stands against it any more, before any box is changed.
    Raise RefusedError for a floor.yaml that a later one has replaced unless `roll_back`, for another build of a model
    that somebody serves unless it may serve `ungated`, and as `Change.run` does.
    """
    if mode:
        demand(mode)  # before any box is asked
    carried = tuple(install_releases(site, say, dry_run=dry_run))
    if dry_run and carried:
        return Outcome(Plan(), carried=carried)
    meeting = Meeting(site, take_over)
    change = deployment(site, mode, say, progress, force=force, meeting=meeting, ungated=ungated)
    change.begins = begins
    aim, plan = change.look()
    refuse_switch(aim)
    if not ungated:
        refuse_ungated(aim)
    plan = meeting.told(aim, plan)
    if not roll_back:
        refuse_older(aim, site)
    plan = replace(plan, notes=(*plan.notes, *layout_warnings.notes(site, plan)))
    return carried_out(change, aim, plan, carried, dry_run=dry_run)


def carried_out(change: Change, aim: Aim, plan: Plan, carried: tuple[str, ...], *, dry_run: bool) -> Outcome:
    """Given a change, what was seen and the plan, carry it out and check what came of it, or say what it would take.

    An operation that was left unfinished is over then, also where nothing of it is left to do.
    """
    say, left = change.say, unfinished(aim.seen)
    if dry_run or not (plan or left):
        if not dry_run:
            change.begins()
        return Outcome(plan, bool(carried), not aim.absent, carried)
    for note in (*([_taken_over(left, change)] if left and change.verb == "deploy" else []), *plan.notes):
        say(f"note: {note}")
    text = change.site.loaded.text if change.verb == ABORT else newest(aim.seen)
    change.target = {**(change.target or {}), "before": digest(text) if text is not None else None}
    last = change.run(aim, plan)
    say("done")
    findings = tuple(checks.verify(change.site, RETURN_SECONDS))
    for finding in findings:
        say(finding.line)
    complete = not (aim.absent or last.absent) and all(finding.ok for finding in findings)
    return Outcome(plan, True, complete, carried, findings)


def _taken_over(left: OperationSeen, change: Change) -> str:
    """What a deployment goes on with, or puts an end to."""
    what = f"operation {left.epoch}, floor {left.verb} of {left.who}, which did not end"
    if left.verb == change.verb and left.config == digest(change.site.loaded.text):
        return f"goes on with {what}"
    other = " with another floor.yaml" if left.verb == change.verb else ""
    return f"takes over from {what}{other}: what it had begun becomes what {change.site.loaded.path} says"


def deployment(
    site: Site,
    mode: str | None,
    say: Say,
    progress: Say,
    *,
    force: bool,
    verb: str = "deploy",
    meeting: Meeting | None = None,
    ungated: bool = False,
) -> Change:
    """Given the site, the mode asked for, what was met of others and whether builds may serve without a test, return
    the change that `floor deploy` makes."""
    text, met = site.loaded.text, meeting or Meeting(site, take_over=False)

    def planner(aim: Aim) -> Plan:
        return builds.told(plan_deploy(aim, text), builds.ungated(aim) if ungated else {})

    def also(aim: Aim) -> Aim:
        return dataclasses.replace(met.into(aim), ungated=ungated)

    def problems(aim: Aim) -> list[str]:
        found = [*preflight.problems(aim, met.held()), *tls.problems(aim), *met.problems(aim, force=force)]
        for seen in aim.proxies:
            if seen.facts.get("nginx"):  # where it is missing, that has been named already
                found += nginx_refusals(site, aim.wanted[seen.box])
        found += shared if (shared := shared_address.problems(aim)) else address_refusals(site, aim)
        found += launch_refusals(site, aim) + ([] if force else key_problems(aim))
        plan = planner(aim)
        found = found or disagreements(site, aim, starting(aim.config, plan), say, progress, force=force)
        return found or trials(site, aim, plan, say, progress, force=force)

    return Change(verb, site, mode, planner, say, progress, None, force, problems, also=also)


def refuse_switch(aim: Aim) -> None:
    """Raise RefusedError while a switch or a swap is unfinished, naming what ends it; who is at work is told by their
    lease."""
    left = unfinished(aim.seen)
    if left is not None and not (left.live and not dead(left.by)) and (told := ways(left)):
        raise RefusedError(f"floor {left.verb} of {left.who}, operation {left.epoch}, did not end: {told}")


def refuse_ungated(aim: Aim) -> None:
    """Raise RefusedError where another build would come into the place of one that serves, naming what tests it."""
    found = builds.ungated(aim)
    if found:
        models = dict.fromkeys(backend.partition("@")[0] for backend in found)
        lines = [f"{backend}: its build becomes another ({'; '.join(told)})" for backend, told in found.items()]
        swaps = ", ".join(f"`floor swap {model}`" for model in models)
        raise RefusedError("\n".join(lines) + f"\n{swaps} tests it before it serves; --ungated lets it serve as it is")


def refuse_older(aim: Aim, site: Site) -> None:
    """Raise RefusedError, with the difference, where this floor.yaml is one that a later one has replaced."""
    mine = digest(site.loaded.text)
    for box, seen in aim.seen.items():
        if mine in seen.configs[:-1] and seen.configs[-1] != mine and not means_the_same(site, seen.config):
            ours, theirs = site.loaded.text.splitlines(), (seen.config or "").splitlines()
            difference = difflib.unified_diff(ours, theirs, "this file", f"deployed on {box}", n=1, lineterm="")
            raise RefusedError(
                f"this {site.loaded.path} is older than the one on {box}:\n"
                + "\n".join(difference)
                + "\ntake over what is deployed, or add --roll-back where going back is meant"
            )


def means_the_same(site: Site, text: str | None) -> bool:
    """Whether the file kept on a box asks for nothing else than this one: comments and order may differ."""
    try:
        return text is not None and parse(text) == site.loaded.config
    except ConfigError:
        return False


def install_releases(
    site: Site, say: Say, *, dry_run: bool, make: Callable[[Mapping[str, Any]], Bundle] = bundle
) -> list[str]:
    """Bring floor's own release to every box that runs another one. Return a line for each box that needed it.

    `make` returns the wheels for a box's facts. Raise BoxError where a box is not set up yet, BusyError where an
    operation is at work there.
    """
    lines = []
    answers = site.each(site.boxes, lambda _box, transport: transport.call("observe", {}))
    for box, answer in answers.items():
        if isinstance(answer, BoxError):
            continue  # observed again, and named, by the plan that follows
        if answer["release"] == site.release:
            continue
        lines.append(f"{box}: floor {answer['release'] or '(none)'} becomes {site.release}")
        if dry_run:
            continue
        say(f"{box}: carrying floor {site.release} over")
        wheels = make(answer["facts"])
        site.boxes[box].call("release.install", wheels.params, payload=wheels.payload, timeout=600)
    return lines
