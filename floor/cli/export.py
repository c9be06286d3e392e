"""`floor export prometheus`, `alerts` and `grafana`: files for those who watch, made without reaching any box."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from floor.cli.options import DEFAULT, ConfigPath, load

if TYPE_CHECKING:
    from floor.config.model import Config

app = typer.Typer(
    help="Print what Prometheus and Grafana need: pages to read, alerts, a dashboard.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command()
def prometheus(config: ConfigPath = DEFAULT) -> None:
    """Print a prometheus.yml that reads the page of every box."""
    from floor.desired.monitoring.prometheus import prometheus as made

    typer.echo(made(_config(config)), nl=False)


@app.command()
def alerts(config: ConfigPath = DEFAULT) -> None:
    """Print rules for Prometheus: when to call somebody, and what to look at then."""
    from floor.desired.monitoring.alerts import alerts as made

    typer.echo(made(_config(config)), nl=False)


@app.command()
def grafana(config: ConfigPath = DEFAULT) -> None:
    """Print a dashboard for Grafana, to be imported there."""
    from floor.desired.monitoring.grafana import grafana as made

    typer.echo(made(_config(config)), nl=False)


def _config(path: Path) -> Config:
    return load(path).config
