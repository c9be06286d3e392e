"""`floor clients`: it reads, and changes nothing."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from floor.cli.options import DEFAULT, ConfigPath, Json, say


def clients(
    config: ConfigPath = DEFAULT,
    as_json: Json = False,
    every: Annotated[bool, typer.Option("--all", help="Show proxies and floor's own checks, too.")] = False,
) -> None:
    """Show who is connected to engines past the proxy, and who was turned away there."""
    from floor.cli.options import open_site
    from floor.errors import BoxError
    from floor.operations.clients import clients as look

    found = look(open_site(config))
    if as_json:
        say(json.dumps(found, indent=1))
    else:
        _table(found, every=every)
    if found["failed"]:
        raise BoxError("\n".join(found["failed"]))


def _table(found: dict[str, Any], *, every: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    from floor.cli.tables import PIPED, make_table
    from floor.operations.clients import PAST

    console = Console()
    if not console.is_terminal:
        console.width = PIPED
    rows = [one for one in found["connections"] if every or one["kind"] == PAST]
    if rows:
        table = make_table("engine", "client", "connections", "kind")
        for one in rows:
            kind = Text(one["kind"], "yellow" if one["kind"] == PAST else "")
            table.add_row(Text(one["engine"]), Text(one["who"]), str(one["connections"]), kind)
        console.print(table)
    if not any(one["kind"] == PAST for one in rows) and found["asked"]:
        sure = f", as far as {', '.join(found['asked'])} can tell" if found["failed"] else ""
        console.print(Text(f"nobody is connected to an engine past the proxy{sure}"), soft_wrap=True)
    for one in found["turned_away"]:
        words = f"{one['box']}: {one['address']} began {one['connections']} connections past the proxy within a day of"
        console.print(Text(f"{words} its last; {one['done']}", "yellow"), soft_wrap=True)
    for one in found["refused"]:
        if one["requests"]:
            words = f"{one['engine']}: the engine turned {one['requests']} requests away (no key, or no such path)"
            console.print(Text(words, "yellow"), soft_wrap=True)
