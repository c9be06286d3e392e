"""How help lists commands: under headings, each with the whole of its first sentence."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from typer.core import TyperGroup

LONGEST = 200  # characters of a command's first sentence: more than any has


class Panels(TyperGroup):
    """The commands under the headings they were registered with. typer does that with rich alone, which costs 0.1 s."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each panel as a section: the commands in the order of this file, each with its first sentence."""
        known = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        # typer lists groups of commands behind all others
        panels = list(dict.fromkeys(_panel(command) for _, command in known))
        known.sort(key=lambda entry: panels.index(_panel(entry[1])))
        for panel, commands in groupby(known, lambda entry: _panel(entry[1])):
            with formatter.section(panel):
                rows = [(name, command.get_short_help_str(LONGEST)) for name, command in commands if command]
                formatter.write_dl(rows)


def _panel(command: Any) -> str:
    return getattr(command, "rich_help_panel", None) or "Commands"
