"""`floor setup` and `floor remove`: make a box ready, and undo it."""

from __future__ import annotations

from typing import Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, Force, ask, load, open_site, say
from floor.cli.screen import Screen

BoxName = Annotated[str, typer.Argument(help="A box of floor.yaml.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DECLINED = 1


def setup(box: BoxName, config: ConfigPath = DEFAULT, yes: Yes = False) -> None:
    """Make a box ready, once: user, folders, nginx package, the one sudo rule, and floor itself.

    Works from a bare Debian or Ubuntu with sshd and python3. Says what it will do and asks before doing it.
    """
    from floor.apply import setup as operation
    from floor.operations.removal import destination

    found = load(config).config
    shares = found.proxy.address is not None and box in found.proxy.boxes
    prepared = operation.setup(box, destination(found, box), yes=yes, say=say, ask=ask, shares=shares)
    if not prepared.done:
        raise typer.Exit(DECLINED)


def remove(
    box: BoxName,
    config: ConfigPath = DEFAULT,
    yes: Yes = False,
    force: Force = False,
    purge: Annotated[bool, typer.Option("--purge", help="Also remove histories and records.")] = False,
) -> None:
    """Drain and stop what runs on a box, then take everything of floor's from it. Weights and images stay.

    Refuses while the box holds the last serving copy of a model, unless --force accepts the outage.
    """
    from floor.operations.removal import remove as run

    screen = Screen()
    try:
        done = run(open_site(config), box, screen.say, screen.progress, ask, yes=yes, purge=purge, force=force)
    finally:
        screen.clear()
    if not done:
        raise typer.Exit(DECLINED)
