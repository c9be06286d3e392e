"""`floor setup` and `floor remove`: make a box ready, and undo it."""

from __future__ import annotations

from typing import Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, Force, load, open_site, say

BoxName = Annotated[str, typer.Argument(help="A box of floor.yaml.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def setup(box: BoxName, config: ConfigPath = DEFAULT, yes: Yes = False) -> None:
    """Make a box ready, once: user, folders, nginx package, the one sudo rule, and floor itself.

    Works from a bare Debian or Ubuntu with sshd and python3. Says what it will do and asks before doing it.
    """
    from floor.apply import setup as operation
    from floor.operations.managed import destination

    operation.setup(box, destination(load(config).config, box), yes=yes, say=say, ask=_ask)


def remove(
    box: BoxName,
    config: ConfigPath = DEFAULT,
    yes: Yes = False,
    force: Force = False,
    purge: Annotated[bool, typer.Option("--purge", help="Also remove histories and records.")] = False,
) -> None:
    """Take everything of floor's from a box. Weights and images stay.

    Refuses while the box holds the last serving copy of a model, unless --force accepts the outage.
    """
    from floor.apply import setup as operation
    from floor.operations.managed import destination, refuse_last_copy

    loaded = load(config)
    target = destination(loaded.config, box)
    if not force:
        refuse_last_copy(open_site(config), box)
    operation.remove(box, target, yes=yes, purge=purge, say=say, ask=_ask)


def _ask(question: str) -> bool:
    return typer.confirm(question, default=False, err=True)
