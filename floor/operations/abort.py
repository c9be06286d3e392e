"""`floor deploy --abort`: end an operation that somebody left, and go back to what was deployed before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from floor.apply.transport import Transport, connect
from floor.config.load import Loaded, parse
from floor.config.model import Config
from floor.errors import BusyError, ConfigError, RefusedError
from floor.operations.caller import dead
from floor.operations.deploy import Say, carried_out, deployment, install_releases
from floor.operations.execute import LOST_POLL
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.plan.abandoned import ABORT, finishing, kept, unfinished, ways
from floor.plan.seen import OperationSeen, Seen
from floor.plan.steps import Plan

Reach = Callable[[Config], Mapping[str, Transport]]


def abort(site: Site, say: Say, progress: Say, *, dry_run: bool, force: bool, reach: Reach = connect) -> Outcome:
    """Given the site, plan the way back from what is seen and carry it out, or say what that would take.

    Back is the floor.yaml of the last finished deployment, which the boxes keep. Raise RefusedError where nothing was
    left unfinished, or where nothing was deployed before; BusyError where somebody is at work; as `Change.run` does.
    """
    seen = site.observe(patience=LOST_POLL).seen
    left = _left(seen)
    if told := ways(left):
        raise RefusedError(f"what was left is no deployment, but floor {left.verb} of {left.who}: {told}")
    text = kept(seen, left)
    if text is None:
        raise RefusedError(
            f"floor {left.verb} of {left.who} was the first on these boxes: there is nothing to go back to; "
            f"`{finishing(left.verb, left.target)}` finishes it, `floor remove BOX` takes away what it has begun"
        )
    say(f"ends operation {left.epoch}, floor {left.verb} of {left.who}, and goes back to what was deployed before it")
    back = _going_back(site, text, reach)
    carried = tuple(install_releases(back, say, dry_run=dry_run))
    if dry_run and carried:
        return Outcome(Plan(), carried=carried)
    change = deployment(back, None, say, progress, force=force, verb=ABORT)
    outcome = carried_out(change, *change.look(), carried, dry_run=dry_run)
    if outcome.changed and text != site.loaded.text:
        say(f"{site.loaded.path} is as it was: `floor deploy` would bring it to the boxes again")
    return outcome


def _left(seen: Mapping[str, Seen]) -> OperationSeen:
    left = unfinished(seen)
    if left is None:
        raise RefusedError(
            "nothing was left unfinished: the last operation on these boxes is done; to go back to an older "
            "floor.yaml, deploy that with --roll-back"
        )
    if left.live and not dead(left.by):
        raise BusyError(
            f"{left.who} (pid {left.by.get('pid')}) is at work: floor {left.verb}, operation {left.epoch}; end that "
            "process first: its hold lapses within 90 s"
        )
    return left


def _going_back(site: Site, text: str, reach: Reach) -> Site:
    """The site of an earlier floor.yaml, with the boxes that the present one has besides: they hold nothing then."""
    name = "the floor.yaml that the boxes keep"
    try:
        config = parse(text, name)
    except ConfigError as error:
        raise RefusedError(f"{error}\nthis release cannot go back to it; deploy a floor.yaml of your own") from error
    present = {box: told for box, told in site.loaded.config.boxes.items() if box not in config.boxes}
    whole = config.model_copy(update={"boxes": {**config.boxes, **present}}) if present else config
    loaded = Loaded(whole, text, site.loaded.path)
    return dataclasses.replace(site, loaded=loaded, boxes=reach(whole))
