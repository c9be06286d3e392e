"""`floor restart`: start copies anew, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from floor.errors import UsageError
from floor.operations.change import Change
from floor.operations.site import Site
from floor.plan.aim import Aim, Copy
from floor.plan.restart import plan_restart

Say = Callable[[str], None]


def restart(site: Site, names: Sequence[str], say: Say, progress: Say, *, force: bool) -> Change:
    """Given backends, boxes or models (none: all), return the change that `floor restart` makes.

    A restart that was interrupted goes on where it stopped: what it had done already is not done twice.
    Raise UsageError for a name that is none of these.
    """
    aim = site.observe()
    chosen = choose(aim, names)
    before = _unfinished(aim, chosen) or {
        copy.backend: aim.seen[copy.box].unit(copy.unit.name).invocation for copy in chosen if copy.box in aim.seen
    }
    return Change(
        verb="restart",
        site=site,
        mode=None,
        planner=lambda now: plan_restart(now, before),
        say=say,
        progress=progress,
        target=before,
        force=force,
        checks=False,
    )


def choose(aim: Aim, names: Sequence[str]) -> list[Copy]:
    """Given names of backends, boxes or models, return the managed copies that they mean; all for no name."""
    copies = aim.copies()
    for name in names:
        if not any(name in (copy.backend, copy.box, copy.model) for copy in copies):
            known = ", ".join(copy.backend for copy in copies)
            raise UsageError(f"{name}: no managed backend, box or model of that name; there are {known}")
    return [copy for copy in copies if not names or {copy.backend, copy.box, copy.model} & set(names)]


def _unfinished(aim: Aim, chosen: Sequence[Copy]) -> dict[str, str] | None:
    """What the last operation on these boxes had set out to restart, where it was this one and did not finish."""
    records = [seen.operation for seen in aim.seen.values() if seen.operation]
    last = max(records, key=lambda record: record.epoch, default=None)
    if last is None or last.verb != "restart" or last.state == "done" or last.live or not isinstance(last.target, dict):
        return None
    return dict(last.target) if set(last.target) == {copy.backend for copy in chosen} else None
