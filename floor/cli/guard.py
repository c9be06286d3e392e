"""`floor guard status`, `advise`, `apply` and `release`: the memory of the boxes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, DryRun, Force, Json, open_site, say
from floor.cli.panels import Panels
from floor.cli.screen import Screen

FAILED, PENDING = 1, 3
Boxes = Annotated[list[str] | None, typer.Argument(help="Boxes of floor.yaml; all by default.")]

app = typer.Typer(
    cls=Panels,
    help="Watch the memory of the boxes: what is left, what the engines should take, and giving them that.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def status(config: ConfigPath = DEFAULT, as_json: Json = False) -> None:
    """Show what each box has left, its floor, what else runs there, and which copies its guard keeps down."""
    from floor.cli.guard_lines import status_lines
    from floor.operations.guard import status as look

    found = look(open_site(config))
    if as_json:
        say(json.dumps(found, indent=1))
    else:
        for line in status_lines(found):
            say(line)
    if any("error" in box for box in found.values()):
        raise typer.Exit(FAILED)


@app.command()
def advise(boxes: Boxes = None, config: ConfigPath = DEFAULT, as_json: Json = False) -> None:
    """Say which share of its box each engine should take, from what else has run there."""
    from floor.cli.guard_lines import advice_lines
    from floor.operations.guard import advices

    found = advices(open_site(config), boxes or [])
    if as_json:
        say(json.dumps([asdict(one) for one in found], indent=1))
        return
    for line in advice_lines(found):
        say(line)


@app.command()
def apply(
    boxes: Boxes = None,
    config: ConfigPath = DEFAULT,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Write the advised shares into floor.yaml and deploy it, one copy at a time."""
    from floor.operations.guard import apply as run

    screen = Screen()
    try:
        difference, outcome = run(
            open_site(config), boxes or [], screen.say, screen.progress, dry_run=dry_run, force=force
        )
    finally:
        screen.clear()
    if not difference or outcome is None:
        say("nothing to do")
        return
    if dry_run:
        for line in outcome.lines():
            say(line)
        raise typer.Exit(PENDING)
    if not outcome.complete:
        raise typer.Exit(FAILED)


@app.command()
def release(
    backend: Annotated[str, typer.Argument(help="MODEL@BOX, or a group as `floor status` writes it.")],
    config: ConfigPath = DEFAULT,
) -> None:
    """Let a copy go that the guard keeps down. It is started by the next deployment."""
    from floor.operations.guard import release as run

    run(open_site(config), backend, say)
