"""What `floor metrics` shows: a line for each copy, and one for all of a model's where it has several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from floor.cli.tables import PIPED, make_table

COLUMNS = ("copy", "tok/s", "prompt tok/s", "running", "waiting", "cache", "first token", "why")


def metrics_table(found: Mapping[str, Any], console: Console | None = None) -> None:
    """Given what operations.metrics returned, print it."""
    console = console or Console()
    if not console.is_terminal:
        console.width = PIPED
    shown = make_table(*COLUMNS)
    for model, whole in found["models"].items():
        copies = [copy for copy in found["copies"] if copy["model"] == model]
        for copy in copies:
            why = "" if copy["up"] else f"{copy['reason']}: {copy['detail']}"
            shown.add_row(Text(copy["copy"]), *_figures(copy), Text(why, "red"))
        if len(copies) > 1:
            some = "" if whole["up"] == whole["copies"] else f"{whole['up']} of {whole['copies']} can be read"
            shown.add_row(Text(f"{model}, all", "bold"), *_figures(whole), Text(some, "red"))
    console.print(shown)
    console.print(Text(f"read by {found['asked']}, rates over {found['seconds']:.1f} s", "dim"))


def _figures(entry: Mapping[str, Any]) -> list[str]:
    first = entry["time_to_first_token_seconds"]
    return [
        _number(entry["generated_tokens_per_second"], 1),
        _number(entry["prompt_tokens_per_second"], 1),
        _number(entry["requests_running"], 0),
        _number(entry["requests_waiting"], 0),
        _cache(entry),
        "-" if first is None or first["p50"] is None else f"{first['p50']:.2f} s",
    ]


def _number(value: float | None, digits: int) -> str:
    """What an engine does not tell is a dash, never 0."""
    return "-" if value is None else f"{value:.{digits}f}"


def _cache(entry: Mapping[str, Any]) -> str:
    if entry["kv_cache_usage_ratio"] is None:
        return {None: "-", 0.0: "not loaded"}.get(entry["loaded"], "loaded")
    size = entry["kv_cache_tokens"]
    return f"{entry['kv_cache_usage_ratio']:.0%}" + (f" of {size:,.0f}" if size is not None else "")
