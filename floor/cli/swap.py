"""`floor swap`: another build of a model, live only once it has passed the tool test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from floor.cli.change import finish
from floor.cli.options import DEFAULT, ConfigPath, DryRun, Force, Json, ask, open_site, warn
from floor.cli.screen import Screen


def swap(
    model: Annotated[str | None, typer.Argument(help="The model whose build changes.", show_default=False)] = None,
    to: Annotated[str | None, typer.Option(help="Folder of the new weights, on each of its boxes.")] = None,
    fetch: Annotated[str | None, typer.Option(help="Where they come from: ORG/NAME@COMMIT, or none.")] = None,
    image: Annotated[str | None, typer.Option(help="The engine's image, best with its digest.")] = None,
    args: Annotated[
        list[str] | None, typer.Option(help="An argument of the engine, NAME=VALUE; several times.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="What `floor tooltest baseline` wrote of the build that runs now.")
    ] = None,
    config: ConfigPath = DEFAULT,
    dry_run: DryRun = False,
    as_json: Json = False,
    force: Force = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Where the report of a test that says no goes.", show_default="MODEL-tooltest.md"),
    ] = None,
    abort: Annotated[bool, typer.Option("--abort", help="Go back to the build before a swap that was left.")] = False,
) -> None:
    """Bring another build of a model to its copies, one at a time, each tested for tool calls before it serves.

    Writes what is given into floor.yaml; with nothing given, takes the file as it was edited. A build that does not
    pass goes back, and the file with it: exit 1 (6 where the test leaves it open) and a report. Run again it goes on
    where it stopped.
    """
    from floor.errors import UsageError
    from floor.operations.swap import Terms
    from floor.operations.swap import swap as run
    from floor.operations.swap_back import swap_back
    from floor.operations.swap_edit import Wish

    wish = Wish(to, fetch, image, args or ())
    if abort and (model or wish.anything):
        raise UsageError("--abort: goes back to the build before; leave the model and what was to change out")
    if not abort and not model:
        raise UsageError("name the model whose build changes, or write --abort")
    site, screen = open_site(config), Screen(beside=as_json)
    if not abort:
        warn(site.loaded)
    try:
        if model:
            page = report or Path(f"{model}-tooltest.md")
            terms = Terms(screen.say, screen.progress, _ask, page, baseline, dry_run=dry_run, force=force)
            outcome = run(site, model, wish, terms)
        else:
            outcome = swap_back(site, screen.say, screen.progress, dry_run=dry_run, force=force)
    finally:
        screen.clear()
    finish(outcome, dry_run=dry_run, as_json=as_json)


def _ask(question: str) -> bool:
    """Where nobody is at a terminal the answer is no."""
    return sys.stdin.isatty() and ask(question)
