"""`floor watchdog`: what the watchdog of each box found last, or finds now."""

from __future__ import annotations

from typing import Any

from floor.errors import BoxError
from floor.operations.site import Site


def look(site: Site, *, once: bool, dry_run: bool) -> dict[str, Any]:
    """Ask every box with a copy. Return {box: {at, decisions: {backend: {action, reason, evidence, alarm, at}}}}, with
    {error} where a box does not answer.

    `once` makes a round now, `dry_run` only decides it; else it is what the last round of the timer found.
    """
    config = site.loaded.config
    boxes = {copy.box for model in config.models for copy in config.copies(model) if copy.managed}
    call, params = ("watchdog.round", {"dry_run": dry_run}) if once or dry_run else ("watchdog.last", {})
    answers = site.each(
        [box for box in site.boxes if box in boxes],
        lambda _box, transport: transport.call(call, params, timeout=120),
    )
    return {box: {"error": str(answer)} if isinstance(answer, BoxError) else answer for box, answer in answers.items()}
