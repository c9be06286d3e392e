"""`floor watchdog`: what starts copies again, asked from afar."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, Json, open_site, say

FAILED, PENDING = 1, 3


def watchdog(
    config: ConfigPath = DEFAULT,
    once: Annotated[bool, typer.Option("--once", help="Make a round now, and act.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what a round would do; exit 3 if anything.")] = False,
    as_json: Json = False,
) -> None:
    """Show what the watchdog of each box found in its last round, and what it did.

    It runs on every box with a copy, twice a minute, and starts again what hangs or stays down.
    """
    from floor.operations.watchdog import look

    found = look(open_site(config), once=once, dry_run=dry_run)
    if as_json:
        say(json.dumps(found, indent=1))
    else:
        for box, answer in found.items():
            if "error" in answer:
                say(f"{box}: {answer['error']}")
            elif not answer["decisions"]:
                say(f"{box}: its watchdog has found nothing yet")
            for backend, one in answer.get("decisions", {}).items():
                done = "" if one["action"] == "none" else f"{one['action']}: "
                say(f"{'! ' if one['alarm'] else ''}{backend}: {done}{one['reason']}: {one['evidence']}")
            for line in answer.get("foreign", ()):
                say(f"! {box}: {line}")
    if any("error" in answer for answer in found.values()):
        raise typer.Exit(FAILED)
    acts = [one for answer in found.values() for one in answer["decisions"].values() if one["action"] != "none"]
    if dry_run and acts:
        raise typer.Exit(PENDING)
