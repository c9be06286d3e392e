"""`floor key`: show, replace and end keys."""

from __future__ import annotations

from typing import Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, DryRun, Json, open_site, say
from floor.cli.screen import Screen

app = typer.Typer(
    help="Show, replace and end keys: those of clients, of the engines, of the status ports.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Argument(help="A client of proxy.clients; or `engine`, `status`.")]
Client = Annotated[str, typer.Argument(help="A client of proxy.clients.")]


@app.command()
def show(name: Name, config: ConfigPath = DEFAULT) -> None:
    """Print a key on stdout, the newest alone. It is read from a proxy box, and kept nowhere here."""
    from floor.operations.key import show as run

    say(run(open_site(config), name)[0])


@app.command()
def rotate(
    name: Name,
    config: ConfigPath = DEFAULT,
    lasting: Annotated[
        str | None,
        typer.Option(
            "--for", help="End a client's old key after this time, such as 24h (at most 168h).", metavar="TIME"
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    force: Annotated[
        bool, typer.Option("--force", help="Accept that a backend which is not managed is out meanwhile.")
    ] = False,
) -> None:
    """Replace a key without a refused request.

    A client's old key stays valid until `floor key retire`, or for the time that --for gives. That of the engines and
    of the status ports ends when every process has the new one; engines restart for it, one copy at a time.
    """
    from floor.cli.change import finish
    from floor.operations.key import rotate as run

    seconds = None if lasting is None else _seconds(lasting)
    site, screen = open_site(config), Screen(beside=as_json)
    try:
        outcome = run(site, name, screen.say, screen.progress, dry_run=dry_run, force=force, seconds=seconds)
    finally:
        screen.clear()
    finish(outcome, dry_run=dry_run, as_json=as_json)


def _seconds(text: str) -> int:
    """Given a duration as floor.yaml writes them, return its seconds. Raise UsageError otherwise."""
    from floor.config.values import seconds
    from floor.errors import UsageError

    try:
        return int(float(str(seconds(text))))
    except ValueError as error:
        raise UsageError(f"--for {text}: write {error}") from None


@app.command()
def retire(name: Client, config: ConfigPath = DEFAULT, dry_run: DryRun = False, as_json: Json = False) -> None:
    """End a client's old key, once it uses the new one."""
    from floor.cli.change import finish
    from floor.operations.key import retire as run

    site, screen = open_site(config), Screen(beside=as_json)
    try:
        outcome = run(site, name, screen.say, screen.progress, dry_run=dry_run)
    finally:
        screen.clear()
    finish(outcome, dry_run=dry_run, as_json=as_json)
