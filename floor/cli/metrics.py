"""`floor metrics`: it reads, and changes nothing."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, Json, open_site, say


def metrics(
    config: ConfigPath = DEFAULT,
    as_json: Json = False,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, max=15, help="Rates are measured over this time.")
    ] = 2.0,
) -> None:
    """Read every copy's own metrics: tokens a second, requests, cache, time to the first token; each and together."""
    from floor.cli.metrics_table import metrics_table
    from floor.operations.metrics import metrics as read

    found = read(open_site(config), seconds)
    if as_json:
        say(json.dumps(found, indent=1))
    else:
        metrics_table(found)
    if not all(copy["up"] for copy in found["copies"]):
        raise typer.Exit(1)
