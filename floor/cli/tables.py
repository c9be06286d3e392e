"""Tables for a person, by rich: plain text where the output is no terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

GIB = 1 << 30
SERVICES = {"floor-proxy.service": "proxy", "floor-pool.service": "pool", "floor-agent.service": "agent"}


def status_table(found: dict[str, Any]) -> None:
    """Given what operations.status returns, print boxes, backends and warnings."""
    console = Console(soft_wrap=False)
    console.print(_boxes(found["boxes"]))
    console.print(_backends(found["backends"]))
    for warning in found["warnings"]:
        console.print(f"! {warning}", style="yellow", highlight=False)


def _boxes(boxes: dict[str, Any]) -> Table:
    table = Table("box", "mode", "memory left", "services", "release", box=None, pad_edge=False, header_style="bold")
    for name, box in boxes.items():
        if "error" in box:
            table.add_row(name, "[red]does not answer[/red]", "", "", "")
            continue
        if not box["managed"]:
            table.add_row(name, "not managed", "", "", "")
            continue
        table.add_row(
            name, box["mode"] or "none yet", _memory(box["memory"]), _services(box["units"]), box["release"] or ""
        )
    return table


def _services(units: dict[str, Any]) -> str:
    """Named are those that do not run; there is no news in the others."""
    states = {SERVICES[unit]: seen["active"] for unit, seen in units.items() if unit in SERVICES}
    down = [f"[red]{name} {state}[/red]" for name, state in sorted(states.items()) if state != "active"]
    if not states:
        return "none yet"
    return ", ".join(down) or f"{len(states)} active"


def _memory(memory: dict[str, Any] | None) -> str:
    available, total = (memory or {}).get("available"), (memory or {}).get("total")
    if available is None or total is None:
        return "unknown"
    return f"{available / GIB:.1f} of {total / GIB:.1f} GiB"


def _backends(backends: list[dict[str, Any]]) -> Table:
    table = Table("backend", "pool", "unit", "running", "waiting", "why", box=None, pad_edge=False, header_style="bold")
    for entry in backends:
        inside = [box for box, member in entry["member"].items() if member]
        if len(inside) == len(entry["member"]) and inside:
            pool = "[green]in[/green]"
        elif inside:
            pool = f"[yellow]in {', '.join(inside)} only[/yellow]"
        else:
            pool = "[red]out[/red]"
        why = (
            f"drained by {', '.join(entry['drains'])}"
            if entry["drains"]
            else entry["evidence"] or entry["reason"] or ""
        )
        unit = entry["unit"] or ("" if entry["managed"] else "not managed")
        table.add_row(entry["backend"], pool, unit, _count(entry["running"]), _count(entry["waiting"]), why)
    return table


def _count(number: int | None) -> str:
    return "" if number is None else str(number)
