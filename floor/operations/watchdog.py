"""`floor watchdog`: what the watchdog of each box found last, or finds now."""

from __future__ import annotations

from typing import Any

from floor.desired.watch import engines
from floor.errors import BoxError
from floor.operations.site import Site


def look(site: Site, *, once: bool, dry_run: bool) -> dict[str, Any]:
    """Ask every box with an engine. Return {box: {at, decisions, foreign}}, decisions by backend with {action, reason,
    evidence, alarm, at}, `foreign` in lines; and {error} where a box does not answer.

    `once` makes a round now, `dry_run` only decides it; else it is what the last round of the timer found.
    """
    config = site.loaded.config
    call, params = ("watchdog.round", {"dry_run": dry_run}) if once or dry_run else ("watchdog.last", {})
    answers = site.each(
        [box for box in site.boxes if engines(config, box)],
        lambda _box, transport: transport.call(call, params, timeout=120),
    )
    return {box: {"error": str(answer)} if isinstance(answer, BoxError) else answer for box, answer in answers.items()}
