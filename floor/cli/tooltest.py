"""`floor tooltest`: does a build still call tools? It has a command line of its own, as `python -m floor.tooltest`."""

from __future__ import annotations

import typer


def tooltest(context: typer.Context) -> None:
    """Test whether a model build still calls tools: run, baseline, gate, compare."""
    from floor.tooltest.command import main

    raise typer.Exit(main(context.args))
