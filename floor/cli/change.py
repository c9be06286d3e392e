"""`floor deploy`, `floor switch`, `floor restart` and `floor reboot`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from floor.cli.options import DEFAULT, ConfigPath, DryRun, Force, Json, open_site, say, warn
from floor.cli.screen import Screen

if TYPE_CHECKING:
    from floor.operations.outcome import Outcome

FAILED, PENDING = 1, 3


def deploy(
    config: ConfigPath = DEFAULT,
    mode: Annotated[
        str | None, typer.Option(help="replicas or split, on boxes that have none yet.", show_default="as it is")
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    force: Force = False,
    roll_back: Annotated[
        bool, typer.Option("--roll-back", help="This file was deployed before; go back to it.")
    ] = False,
    abort: Annotated[
        bool,
        typer.Option("--abort", help="End an operation that was left, and go back to what was deployed before it."),
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Stop and disable what others run in the way; floor remove brings it back."),
    ] = False,
    ungated: Annotated[
        bool, typer.Option("--ungated", help="Let another build of a model that serves go live without a test.")
    ] = False,
) -> None:
    """Bring the boxes to what floor.yaml says, one copy at a time.

    Run again it goes on where it stopped, or prints `nothing to do`.
    """
    from floor.errors import UsageError
    from floor.operations.abort import abort as back
    from floor.operations.deploy import deploy as run

    if abort and (mode or roll_back or take_over or ungated):
        raise UsageError("--abort: goes back to what was deployed; leave every other option but --force out")
    site, screen = open_site(config), Screen(beside=as_json)
    if not abort:
        warn(site.loaded)
    try:
        if abort:
            outcome = back(site, screen.say, screen.progress, dry_run=dry_run, force=force)
        else:
            outcome = run(
                site,
                mode,
                screen.say,
                screen.progress,
                dry_run=dry_run,
                force=force,
                roll_back=roll_back,
                take_over=take_over,
                ungated=ungated,
            )
    finally:
        screen.clear()
    finish(outcome, dry_run=dry_run, as_json=as_json)


def switch(
    mode: Annotated[
        str | None,
        typer.Argument(help="split: one model over its boxes. replicas: a copy on each.", show_default=False),
    ] = None,
    config: ConfigPath = DEFAULT,
    dry_run: DryRun = False,
    as_json: Json = False,
    force: Force = False,
    abort: Annotated[bool, typer.Option("--abort", help="Go back to the mode before a switch that was left.")] = False,
) -> None:
    """Switch every model that has `split` between a copy on each box and one group over them; no word: say the mode.

    Nobody answers for such a model until it is warm again: steps and time are told first. Run again it goes on.
    """
    from floor.errors import UsageError
    from floor.operations import switch as run

    if abort and mode:
        raise UsageError("--abort: goes back to the mode before; leave the mode out")
    site, screen = open_site(config), Screen(beside=as_json)
    if not (mode or abort):
        _show_modes(run.modes(site), as_json=as_json)
        return
    try:
        if mode:
            outcome = run.switch(site, mode, screen.say, screen.progress, dry_run=dry_run, force=force)
        else:
            outcome = run.switch_back(site, screen.say, screen.progress, dry_run=dry_run, force=force)
    finally:
        screen.clear()
    finish(outcome, dry_run=dry_run, as_json=as_json)


def _show_modes(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(found, indent=1))
        return
    for box, mode in found["boxes"].items():
        say(f"{box}: {mode or 'no mode: no engine of floor is there'}")
    for why in found["absent"].values():
        say(why)
    if found["unfinished"]:
        say(f"a switch was left unfinished: {found['unfinished']}")
    if found["at_work"]:
        say(f"somebody is at work: {found['at_work']}")


def restart(
    backends: Annotated[list[str] | None, typer.Argument(help="Backends, boxes or models; all by default.")] = None,
    config: ConfigPath = DEFAULT,
    dry_run: DryRun = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Start copies anew, one at a time, each after the one before serves again.

    Refuses to take the last serving copy of a model unless --force accepts the outage.
    """
    from floor.operations.restart import restart as run

    site, screen = open_site(config), Screen(beside=as_json)
    try:
        outcome = run(site, backends or [], screen.say, screen.progress, dry_run=dry_run, force=force)
    finally:
        screen.clear()
    finish(outcome, dry_run=dry_run, as_json=as_json)


def reboot(
    boxes: Annotated[list[str], typer.Argument(help="Boxes; they go in the order of floor.yaml.")],
    config: ConfigPath = DEFAULT,
    dry_run: DryRun = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Reboot boxes one at a time, each after what the one before holds serves again.

    Refuses to take the last serving copy of a model, or the only serving proxy, unless --force accepts the outage.
    """
    from floor.operations.reboot import reboot as run

    site, screen = open_site(config), Screen(beside=as_json)
    try:
        outcome = run(site, boxes, screen.say, screen.progress, dry_run=dry_run, force=force)
    finally:
        screen.clear()
    finish(outcome, dry_run=dry_run, as_json=as_json)


def finish(outcome: Outcome, *, dry_run: bool, as_json: bool) -> None:
    """Print what came of a changing verb; raise typer.Exit with its code where that is not 0."""
    if as_json:
        say(json.dumps(outcome.as_json(), indent=1))
    elif dry_run or not outcome.changed:
        for line in outcome.lines():
            say(line)
    if dry_run and outcome.pending:
        raise typer.Exit(PENDING)
    if not outcome.complete:
        raise typer.Exit(FAILED)
