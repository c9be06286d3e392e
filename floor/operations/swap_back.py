"""The way back of a swap: the build before it on every copy, and floor.yaml as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from floor.config.load import Loaded, parse
from floor.errors import BusyError, ConfigError, RefusedError
from floor.operations import config_file
from floor.operations.caller import dead
from floor.operations.deploy import carried_out, deployment
from floor.operations.execute import LOST_POLL
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.plan.abandoned import SWAP, SWAP_BACK, digest, kept, unfinished
from floor.plan.seen import OperationSeen

Say = Callable[[str], None]


def swap_back(site: Site, say: Say, progress: Say, *, dry_run: bool, force: bool) -> Outcome:
    """Given the site, plan the way back of a swap that was left from what is seen, and carry it out, or say what that
    would take. Raise RefusedError where none was left, BusyError where somebody is at work; and as `Change.run` does.
    """
    seen = site.observe(patience=LOST_POLL).seen
    left = unfinished(seen)
    if left is None or left.verb not in (SWAP, SWAP_BACK) or not isinstance(left.target, dict):
        raise RefusedError("no swap was left unfinished: the last one on these boxes is done")
    if works(left):
        raise BusyError(
            f"{left.who} (pid {left.by.get('pid')}) is at work: floor {left.verb}, operation {left.epoch}; end that "
            "process first: its hold lapses within 90 s"
        )
    text = _text(site, kept(seen, left))
    say(f"ends operation {left.epoch}, floor {left.verb} of {left.who}, and goes back to the build before it")
    back = dataclasses.replace(site, loaded=Loaded(parse(text, str(site.loaded.path)), text, site.loaded.path))
    target = {"model": left.target.get("model"), "to": left.target.get("to")}
    outcome = going_back(back, target, say, progress, dry_run=dry_run, force=force)
    if not dry_run:
        new = site.loaded.text if digest(site.loaded.text) == target["to"] else text
        if told := config_file.restore(site.loaded.path, new):
            say(told)
        elif site.loaded.text != text:
            say(f"{site.loaded.path} still asks for the build that went: take that out again")
    return outcome


def _text(site: Site, deployed: str | None) -> str:
    """The floor.yaml to go back to: what the file was, where that means what the boxes keep, with its comments."""
    if deployed is None:
        raise RefusedError("the boxes keep no floor.yaml of before; deploy a floor.yaml of your own")
    was = config_file.before(site.loaded.path)
    try:
        return was if was is not None and parse(was) == parse(deployed) else deployed
    except ConfigError as error:
        raise RefusedError(f"{error}\nthis release cannot go back to it; deploy a floor.yaml of your own") from error


def going_back(
    site: Site, target: dict[str, Any], say: Say, progress: Say, *, dry_run: bool = False, force: bool = True
) -> Outcome:
    """Given the site of the floor.yaml before the swap, bring the boxes there. What the new build has lost is lost
    already, so an outage that this makes longer is accepted with `force`."""
    change = deployment(site, None, say, progress, force=force, verb=SWAP_BACK)
    change.target = target
    aim, plan = change.look()
    model = str(target["model"])
    change.accepted = frozenset([model] if len(aim.config.backends(model, aim.mode)) < 2 else [])
    return carried_out(change, aim, plan, (), dry_run=dry_run)


def works(left: OperationSeen) -> bool:
    """Whether the operation is at work: its lease is live, and its process is not dead as far as is known here."""
    return left.live and not dead(left.by)
