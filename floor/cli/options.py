"""Options that several commands share, and how a command gets its site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from floor.config.load import Loaded
    from floor.operations.site import Site

ConfigPath = Annotated[
    Path, typer.Option("--config", "-c", envvar="FLOOR_CONFIG", help="The file to work from.", show_default=True)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON of a stable shape.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; exit 3 if anything would.")]
Force = Annotated[bool, typer.Option("--force", help="Accept that a model is away for a while.")]

DEFAULT = Path("floor.yaml")


def load(path: Path) -> Loaded:
    """Load floor.yaml."""
    from floor.config.load import load as read

    return read(path)


def warn(loaded: Loaded) -> None:
    """Say on stderr what in floor.yaml is legal and had better be otherwise."""
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)


def open_site(path: Path) -> Site:
    """Load floor.yaml and make ready to reach its boxes."""
    from floor.apply.transport import connect
    from floor.apply.wheels import release_id
    from floor.operations.site import Site

    loaded = load(path)
    return Site(loaded, connect(loaded.config), release_id())


def say(line: str) -> None:
    """A line for the person, at once."""
    typer.echo(line)


def progress(line: str) -> None:
    """A line that only a person at a terminal wants: it overwrites the one before."""
    if sys.stderr.isatty():
        typer.echo(f"\r\x1b[K{line[: terminal_width() - 1]}", err=True, nl=False)


def end_progress() -> None:
    """Leave the line that `progress` wrote."""
    if sys.stderr.isatty():
        typer.echo("\r\x1b[K", err=True, nl=False)


def terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size().columns
