"""The watchdog of this box: a round now, or what the last one found."""

from __future__ import annotations

import sys
from typing import Any

from floor.agent.call import Call
from floor.box import paths
from floor.box.observe import document


def last(call: Call) -> dict[str, Any]:
    """{} → {at: unix seconds of the last round, or null, decisions: {backend: {action, reason, evidence, …}}, foreign:
    [lines on what somebody else has against our units]}."""
    found = document(paths.WATCHDOG_STATE, call.root) or {}
    return {"at": found.get("at"), "decisions": found.get("decisions", {}), "foreign": found.get("foreign", [])}


def round(call: Call) -> dict[str, Any]:  # noqa: A001 -- the call's own name
    """{dry_run} → {at, decisions, foreign} of a round made now, foreign units sought. With `dry_run` nothing is done,
    kept or told, and what is foreign is what the last round found."""
    from floor.watchdog.look import World
    from floor.watchdog.round import Round, shown
    from floor.watchdog.settings import load

    settings = load(paths.under(call.root, paths.WATCHDOG_SETTINGS))
    one = Round(settings, World(call.root, call.clock, call.run), _log, call.wall)
    found = one.run(dry_run=call.params.flag("dry_run"), seek=True)
    at = call.wall()
    decisions = {backend: shown(decision, at) for backend, decision in found.items()}
    return {"at": at, "decisions": decisions, "foreign": last(call)["foreign"]}


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
