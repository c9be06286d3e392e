"""`floor status`, `health`, `verify`, `logs` and `events`: they read, and change nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, Json, open_site, say

if TYPE_CHECKING:
    from floor.operations.site import Site

UNKNOWN = 3  # of monitoring plugins: nobody can tell


def status(
    config: ConfigPath = DEFAULT,
    as_json: Json = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Stay and show it each second; with --json a line each.")
    ] = False,
) -> None:
    """Show boxes, mode, units, and each backend as the pools see it."""
    if watch:
        _watch(open_site(config), as_json=as_json)
        return
    from floor.cli.tables import status_table
    from floor.operations.status import status as look

    found = look(open_site(config))
    if as_json:
        say(json.dumps(found, indent=1))
    else:
        status_table(found)
    if any("error" in box for box in found["boxes"].values()):
        raise typer.Exit(1)


def _watch(site: Site, *, as_json: bool) -> None:
    """Until Ctrl-C, which is how it ends and no error."""
    import sys
    from contextlib import suppress

    from floor.errors import UsageError
    from floor.operations.watch import watch

    if as_json:
        with suppress(KeyboardInterrupt):
            for document in watch(site):
                say(json.dumps(document))
        return
    if not sys.stdout.isatty():
        raise UsageError("--watch: draws on a terminal; add --json for lines that a program reads")
    from floor.cli.watch_view import show

    show(watch(site))


def health(config: ConfigPath = DEFAULT, as_json: Json = False) -> None:
    """Ask every backend directly: is it up, is it ready, does it generate?

    Exit codes are those of monitoring plugins: 0 ok, 1 warning, 2 critical, 3 unknown.
    """
    from floor.errors import FloorError
    from floor.operations import checks

    try:
        found = checks.verdicts(open_site(config))
    except FloorError as error:
        typer.echo(f"UNKNOWN {error}", err=True)
        raise typer.Exit(UNKNOWN) from error
    if as_json:
        say(json.dumps(found, indent=1))
    else:
        for verdict in found:
            say(f"{verdict['state']} {verdict['backend']}: {verdict['evidence']}")
    raise typer.Exit(checks.exit_code(found))


def verify(config: ConfigPath = DEFAULT, as_json: Json = False) -> None:
    """Check a live deployment: every pool, and a chat through every proxy, streamed and not."""
    from floor.operations import checks

    findings = checks.verify(open_site(config))
    if as_json:
        say(json.dumps([vars(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            say(finding.line)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def logs(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Backends, boxes, models, `proxy`, `pool`, `agent`, `guard` or `watchdog`."),
    ] = None,
    config: ConfigPath = DEFAULT,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the last lines.")] = 50,
    since: Annotated[str | None, typer.Option(help="As journalctl takes it, such as '10 min ago'.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as new lines come.")] = False,
) -> None:
    """Print what engines and services logged, each line with its box."""
    from floor.operations.logs import stream

    stream(open_site(config), names or [], lines=lines, since=since, follow=follow, say=say)


def events(
    config: ConfigPath = DEFAULT,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the last events.")] = 30,
    as_json: Json = False,
) -> None:
    """Print what floor saw and did, of every box, in the order of their clocks."""
    from floor.errors import BoxError
    from floor.operations.logs import events as read

    found, failed = read(open_site(config), lines)
    for event in found:
        say(json.dumps(event) if as_json else f"{event['when']}  {event['box']}: {event['who']}: {event['text']}")
    if failed:
        raise BoxError("\n".join(failed))
