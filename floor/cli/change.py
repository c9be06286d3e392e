"""`floor deploy` and `floor restart`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, DryRun, Force, Json, end_progress, open_site, progress, say, warn

if TYPE_CHECKING:
    from floor.operations.change import Change
    from floor.plan.aim import Aim
    from floor.plan.steps import Plan

PENDING = 3


def deploy(
    config: ConfigPath = DEFAULT,
    mode: Annotated[str | None, typer.Option(help="replicas: a copy on each box.", show_default="as it is")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    force: Force = False,
    roll_back: Annotated[
        bool, typer.Option("--roll-back", help="This file was deployed before; go back to it.")
    ] = False,
) -> None:
    """Bring the boxes to what floor.yaml says, one copy at a time.

    Run again it goes on where it stopped, or prints `nothing to do`.
    """
    from floor.operations import checks
    from floor.operations.deploy import deployment, install_releases, refuse_older

    site = open_site(config)
    warn(site.loaded)
    carried = install_releases(site, say, dry_run=dry_run)
    if dry_run and carried:
        show_carried(carried, as_json=as_json)
        raise typer.Exit(PENDING)
    change = deployment(site, mode, say, progress, force=force)
    aim, plan = change.look()
    if not roll_back:
        refuse_older(aim, site)
    if not carry_out(change, aim, plan, dry_run=dry_run, as_json=as_json):
        raise typer.Exit(1 if aim.absent else 0)  # a box that does not answer is not as wanted
    findings = checks.verify(site)
    for finding in findings:
        say(f"{'ok' if finding.ok else 'FAILED'}  {finding.where}: {finding.what}")
    if aim.absent or not all(finding.ok for finding in findings):
        raise typer.Exit(1)


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
    from floor.operations.restart import restart as restart_copies

    change = restart_copies(open_site(config), backends or [], say, progress, force=force)
    aim, plan = change.look()
    carry_out(change, aim, plan, dry_run=dry_run, as_json=as_json)


def carry_out(change: Change, aim: Aim, plan: Plan, *, dry_run: bool, as_json: bool) -> bool:
    """Show or run a plan. Return whether anything was changed. Exit 3 where a dry run finds something to do."""
    from floor.plan import show

    if as_json:
        say(json.dumps(show.as_json(plan), indent=1))
    if not plan:
        if not as_json:
            for note in plan.notes:
                say(f"note: {note}")
            say("nothing to do")
        return False
    if dry_run:
        if not as_json:
            for line in show.lines(plan):
                say(line)
        raise typer.Exit(PENDING)
    for note in plan.notes:
        say(f"note: {note}")
    try:
        change.run(aim, plan)
    finally:
        end_progress()
    say("done")
    return True


def show_carried(carried: list[str], *, as_json: bool) -> None:
    """What a dry run says where the boxes run another release: the rest can only be told after that."""
    if as_json:
        say(json.dumps({"stages": [], "notes": carried}, indent=1))
        return
    for line in carried:
        say(line)
    say("the rest is planned by the new release, once it is there")
