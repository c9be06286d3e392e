"""All commands, in the panels that `floor --help` shows. Modules here import only typer at the top: help is quick."""

from __future__ import annotations

import typer

from floor.cli import (
    bench,
    boxes,
    calibrate,
    change,
    clients,
    export,
    fetch,
    guard,
    keys,
    layout,
    look,
    metrics,
    pools,
    project,
    simulate,
    swap,
    tooltest,
    watchdog,
)
from floor.cli.panels import Panels

app = typer.Typer(
    name="floor",
    cls=Panels,
    help="Runs self-hosted LLM inference on your boxes and never lets the model go away by surprise.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if show:
        from floor import __version__

        typer.echo(__version__)
        raise typer.Exit


START, CHANGE, LOOK, TRY = "Start here", "Change", "Look", "Try out"

app.command("init", rich_help_panel=START)(project.init)
app.command("check", rich_help_panel=START)(project.check)
app.command("setup", rich_help_panel=START)(boxes.setup)
app.command("layout", rich_help_panel=START)(layout.layout)
app.command("schema", rich_help_panel=START)(project.schema)

app.command("fetch", rich_help_panel=CHANGE)(fetch.fetch)
app.command("deploy", rich_help_panel=CHANGE)(change.deploy)
app.command("switch", rich_help_panel=CHANGE)(change.switch)
app.command("swap", rich_help_panel=CHANGE)(swap.swap)
app.command("restart", rich_help_panel=CHANGE)(change.restart)
app.command("reboot", rich_help_panel=CHANGE)(change.reboot)
app.command("drain", rich_help_panel=CHANGE)(pools.drain)
app.command("undrain", rich_help_panel=CHANGE)(pools.undrain)
app.add_typer(keys.app, name="key", rich_help_panel=CHANGE)
app.command("remove", rich_help_panel=CHANGE)(boxes.remove)
app.command("calibrate", rich_help_panel=CHANGE)(calibrate.calibrate)
app.add_typer(guard.app, name="guard", rich_help_panel=CHANGE)

app.command("status", rich_help_panel=LOOK)(look.status)
app.command("health", rich_help_panel=LOOK)(look.health)
app.command("metrics", rich_help_panel=LOOK)(metrics.metrics)
app.command("clients", rich_help_panel=LOOK)(clients.clients)
app.command("bench", rich_help_panel=LOOK)(bench.bench)
app.command("verify", rich_help_panel=LOOK)(look.verify)
app.command("logs", rich_help_panel=LOOK)(look.logs)
app.command("events", rich_help_panel=LOOK)(look.events)
app.command("watchdog", rich_help_panel=LOOK)(watchdog.watchdog)
app.add_typer(export.app, name="export", rich_help_panel=LOOK)
app.command("render", rich_help_panel=LOOK)(project.render)

OWN = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}  # a command line of its own
app.command("tooltest", rich_help_panel=TRY, context_settings=OWN)(tooltest.tooltest)
app.command("sim", rich_help_panel=TRY, context_settings=OWN)(simulate.sim)
