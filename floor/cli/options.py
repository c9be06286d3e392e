"""Options that several commands share, and how a command gets its site."""

from __future__ import annotations

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


def draw(path: Path, picture: str) -> None:
    """Write a picture where a person wants it. Raise FloorError where that cannot be."""
    from floor.errors import FloorError

    try:
        path.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise FloorError(f"{path}: cannot be written: {error.strerror}; choose another place") from error


def say(line: str) -> None:
    """A line for the person, at once."""
    typer.echo(line)


def ask(question: str) -> bool:
    """Ask the person; no is the default. Raise UsageError where nobody is there to answer."""
    from floor.errors import UsageError

    try:
        return typer.confirm(question, default=False, err=True)
    except typer.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            raise UsageError(f"{question} nobody is there to answer; add --yes") from abort
        raise
