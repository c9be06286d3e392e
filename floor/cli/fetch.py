"""`floor fetch`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, DryRun, Json, open_site, say
from floor.cli.screen import Screen

if TYPE_CHECKING:
    from floor.operations.fetch import Hub
    from floor.operations.fetch_run import Fetched

FAILED, PENDING = 1, 3


def fetch(
    models: Annotated[list[str] | None, typer.Argument(help="Models; all by default.")] = None,
    config: ConfigPath = DEFAULT,
    box: Annotated[list[str] | None, typer.Option("--box", help="Only to this box; may be given again.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    check: Annotated[
        bool, typer.Option("--check", help="Read every file again; what is damaged is named and fetched again.")
    ] = False,
    pin: Annotated[
        bool, typer.Option("--pin", help="Write into floor.yaml the commit that a branch or tag is now, and end.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End what the boxes fetch now; what has come is kept.")] = False,
) -> None:
    """Bring weights and images to the boxes: from the internet to one, from there to the others.

    Boxes go on when this command ends; run it again to see how far they are. A gated model needs HF_TOKEN.
    """
    from floor.errors import UsageError
    from floor.operations import fetch_run

    if stop and (dry_run or as_json or check or pin):
        raise UsageError("--stop: ends what is fetched now; leave --dry-run, --json, --check and --pin out")
    if pin and (as_json or check or box):
        raise UsageError("--pin: only writes floor.yaml; leave --box, --json and --check out")
    hub, screen = _hub(), Screen(beside=as_json)
    if pin:
        _pin(config, hub, models or [], dry_run=dry_run)
        return
    _refuse_unpinned(config, hub)
    site = open_site(config)
    if stop:
        fetch_run.stop(site, models or [], box or [], screen.say)
        return
    try:
        outcome = fetch_run.fetch(
            site, hub, models or [], box or [], screen.say, screen.progress, dry_run=dry_run, check=check
        )
    except KeyboardInterrupt:
        screen.clear()
        typer.echo("the boxes go on with what they fetch now; `floor fetch --stop` ends that", err=True)
        raise
    finally:
        screen.clear()
    _finish(outcome, dry_run=dry_run, as_json=as_json)


def _hub() -> Hub:
    from floor.operations import hub_access
    from floor.operations.fetch import Hub

    return Hub(hub_access.endpoint(), hub_access.token())


def _pin(config: Path, hub: Hub, models: list[str], *, dry_run: bool) -> None:
    from floor.apply.transport import connect
    from floor.operations import fetch_pin

    difference, found = fetch_pin.pin(config, hub, connect, models, dry_run=dry_run)
    say(difference.rstrip("\n") if found else "every revision is a commit already")
    if found and dry_run:
        raise typer.Exit(PENDING)


def _refuse_unpinned(config: Path, hub: Hub) -> None:
    """Only where floor.yaml could be read otherwise: what else is wrong with it is told by loading it."""
    from floor.apply.transport import connect
    from floor.cli.options import load
    from floor.errors import ConfigError
    from floor.operations import fetch_pin

    try:
        load(config)
    except ConfigError:
        if config.is_file():
            fetch_pin.refuse(config.read_text(encoding="utf-8", errors="replace"), str(config), hub, connect)
        raise


def _finish(outcome: Fetched, *, dry_run: bool, as_json: bool) -> None:
    from floor.errors import FloorError

    if as_json:
        say(json.dumps(outcome.as_json(), indent=1))
    elif dry_run:
        for line in outcome.pending or ["nothing to do"]:
            say(line)
    elif not outcome.failed:
        for line in _summary(outcome):
            say(line)
    if outcome.failed:
        raise FloorError("not everything was fetched:\n" + "\n".join(f"  {line}" for line in outcome.failed))
    if dry_run and outcome.pending:
        raise typer.Exit(PENDING)
    if not outcome.complete:
        raise typer.Exit(FAILED)


def _summary(outcome: Fetched) -> list[str]:
    lines = [
        f"the same on {', '.join(one['boxes'])}: {one['repo']} at {one['revision'][:12]}, "
        f"manifest {next(iter(one['boxes'].values()), '')[:12]}"
        for one in outcome.weights
    ] + [
        f"the same on {', '.join(one['boxes'])}: {one['image']}, {next(iter(one['boxes'].values()), '')[:19]}"
        for one in outcome.images
    ]
    if not lines:
        return ["nothing to fetch: no model has `fetch` or an image in floor.yaml"]
    return lines if outcome.changed else [*lines, "nothing to do"]
