"""What the tool test says of a copy that runs, and whether that lets it into the pools. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from floor.box.drains import Drain
from floor.plan import holders
from floor.plan.aim import Aim, Copy, Wanted

PASS, BLOCK, HOLD = "PASS", "BLOCK", "HOLD"


def verdict(aim: Aim, copy: Wanted) -> Mapping[str, Any]:
    """Given a copy, or a group by its head, return what its box tells of the test of the process that runs now; empty
    where that has not been tested to the end."""
    seen = aim.seen[copy.box]
    found, unit = seen.tests.get(copy.unit) or {}, seen.unit(copy.unit)
    same = unit.running and found.get("invocation") == unit.invocation and unit.launch in ("", copy.state.launch.digest)
    return found if same and found.get("launch") == copy.state.launch.digest else {}


def passed(aim: Aim, copy: Wanted) -> bool:
    """Whether what runs may serve: it has passed, or a person took it as it is."""
    found = verdict(aim, copy)
    return found.get("word") == PASS or bool(found.get("accepted"))


def opened(aim: Aim, copy: Copy, holder: str) -> bool:
    """Given a copy and who holds it untested, return whether that has lost its reason: another launch is wanted there
    than the one that is held, or it has passed, or nobody asks for a test."""
    if aim.ungated or not isinstance(copy, Wanted):
        return aim.ungated
    return holder != holders.untested(copy.state.launch.digest) or passed(aim, copy)


def openings(aim: Aim, copy: Copy, drains: Iterable[Drain]) -> list[str]:
    """Given a copy and who holds it out of a pool, return the holders of an untested build that have lost their
    reason."""
    held = (one.holder for one in drains if one.epoch is None and holders.is_untested(one.holder))
    return [holder for holder in held if opened(aim, copy, holder)]


def stays_out(aim: Aim, copy: Copy, drains: Iterable[Drain]) -> bool:
    """Whether a copy that is let in stays out of a pool all the same: for a person, or for a test that is not over."""
    drains = list(drains)
    gone = openings(aim, copy, drains)
    return holders.held(one for one in drains if one.holder not in gone)
