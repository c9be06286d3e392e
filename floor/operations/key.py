"""`floor key`: a key is shown to who asks for it, replaced while everybody goes on, and an old one ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from floor.apply.transport import UnreachableError
from floor.box.secrets import KINDS
from floor.config.model import Config
from floor.errors import BoxError, RefusedError, UsageError
from floor.operations.change import Change
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.plan import preflight
from floor.plan.aim import Aim
from floor.plan.deploy import plan_deploy
from floor.plan.keys import plan_new_key, present_key
from floor.plan.steps import Plan

Say = Callable[[str], None]
VERB = "key"


def show(site: Site, name: str) -> list[str]:
    """Given a client's name, `engine` or `status`, return its keys as the first proxy box that answers has them, the
    newest first. Raise UsageError for a name that nobody has, BoxError where no proxy box answers."""
    known(site.loaded.config, name)
    why = ""
    for box in site.loaded.config.proxy.boxes:
        try:
            return list(site.boxes[box].call("secrets.show", {"name": name})["keys"])
        except UnreachableError as error:
            why = why or str(error)
    raise BoxError(why)


def rotate(
    site: Site,
    name: str,
    say: Say,
    progress: Say,
    *,
    dry_run: bool = False,
    force: bool = False,
    seconds: int | None = None,
) -> Outcome:
    """Replace a key. A client's old one stays valid beside the new until `retire`; those of engines and status ports
    end when every process has the new one: engines restart for it, one copy at a time.

    With `seconds` a client's old key ends after them by itself, by the clock of each proxy box.

    Raise UsageError for a name that nobody has, RefusedError where something else is to be deployed first, where a box
    does not answer, or where floor cannot change who asks for the key; and as `Change.run` does.
    """
    known(site.loaded.config, name)
    if seconds is not None and name in KINDS:
        raise UsageError(f"{name}: the old key ends by itself once every process has the new one; leave out --for")
    return _carry_out(_change(site, "rotate", name, say, progress, force=force, seconds=seconds), dry_run=dry_run)


def retire(site: Site, name: str, say: Say, progress: Say, *, dry_run: bool = False) -> Outcome:
    """End a client's old key; where it has no old one there is nothing to do. Raise as `rotate` does."""
    if name in KINDS:
        raise UsageError(f"{name}: the old key ends by itself once every process has the new one")
    known(site.loaded.config, name)
    return _carry_out(_change(site, "retire", name, say, progress), dry_run=dry_run)


def known(config: Config, name: str) -> None:
    """Raise UsageError for a name that no key has."""
    names = [*config.proxy.clients, *KINDS]
    if name not in names:
        raise UsageError(f"{name}: no key is called that; there are {', '.join(names)} (clients: proxy.clients)")


def _carry_out(change: Change, *, dry_run: bool) -> Outcome:
    aim, plan = change.look()
    if dry_run or not (plan or change.resumes):
        return Outcome(plan)
    for note in plan.notes:
        change.say(f"note: {note}")
    change.run(aim, plan)
    change.say("done")
    return Outcome(plan, True)


def _change(
    site: Site,
    what: str,
    name: str,
    say: Say,
    progress: Say,
    *,
    force: bool = False,
    seconds: int | None = None,
) -> Change:
    """One that was interrupted goes on where it stopped: the record of the operation holds what the key was before."""
    aim, text = site.observe(), site.loaded.text
    target = {what: name, "from": present_key(aim, name)}
    left = _unfinished(aim, what, name)
    if left is None:
        _refuse(aim, plan_deploy(aim, text), name, force=force)
        if what == "rotate" and name not in KINDS and len(present_key(aim, name)) > 1:
            raise RefusedError(f"{name}: has an old key beside its new one; end that first: floor key retire {name}")
    else:
        target = left

    def planner(now: Aim) -> Plan:
        rest = plan_deploy(now, text)
        made = plan_new_key(now, what, name, target["from"], seconds)
        notes = (*(["after that every engine restarts, one copy at a time"] if made and name == "engine" else []),)
        return dataclasses.replace(rest, stages=(*made, *rest.stages), notes=(*notes, *rest.notes))

    def problems(now: Aim) -> list[str]:
        """Engines restart for their key: what would keep one from coming up is told before any stops."""
        return preflight.problems(now) if name == "engine" else []

    return Change(VERB, site, None, planner, say, progress, target, force, problems, resumes=left is not None)


def _unfinished(aim: Aim, what: str, name: str) -> dict[str, Any] | None:
    """What the last operation on these boxes set out from, where it did just this and did not get to its end."""
    records = [seen.operation for seen in aim.seen.values() if seen.operation]
    last = max(records, key=lambda record: record.epoch, default=None)
    if last is None or last.verb != VERB or not isinstance(last.target, dict):
        return None
    if all(record.state == "done" for record in records if record.epoch == last.epoch):
        return None
    return dict(last.target) if last.target.get(what) == name else None


def _refuse(aim: Aim, pending: Plan, name: str, *, force: bool) -> None:
    if aim.absent:
        raise RefusedError("a key is replaced on all boxes or on none:\n" + "\n".join(aim.absent.values()))
    if pending and name not in aim.rotating:
        titles = ", ".join(stage.title for stage in pending.stages)
        raise RefusedError(f"something else is to be done first ({titles}); run floor deploy")
    foreign = _foreign(aim) if name == "engine" else []
    if foreign and not force:
        raise RefusedError(
            f"{', '.join(foreign)}: not managed, and asks for the engine key: floor cannot change it there, so it is "
            "out of the pools until it takes the new one (floor key show engine); accept that with --force"
        )


def _foreign(aim: Aim) -> Sequence[str]:
    copies = (copy for model in aim.config.models for copy in aim.config.copies(model))
    return [copy.backend for copy in copies if copy.key and not copy.managed]
