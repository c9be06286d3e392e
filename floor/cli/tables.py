"""Tables for a person, by rich: plain text where the output is no terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from floor.sizes import GIB, gib

PIPED = 400  # columns where nobody looks at a terminal: a line a row, for grep
SERVICES = {
    "floor-proxy.service": "proxy",
    "floor-pool.service": "pool",
    "floor-metrics.service": "metrics",
    "floor-agent.service": "agent",
    "floor-firewall.service": "firewall",
    "floor-guard.service": "guard",
    "floor-watchdog.timer": "watchdog",
    "floor-address.service": "address",
    "floor-group.service": "groups",
}


def status_table(found: dict[str, Any], console: Console | None = None) -> None:
    """Given what operations.status returns, print boxes, backends and warnings."""
    console = console or Console()
    if not console.is_terminal:
        console.width = PIPED
    console.print(_boxes(found["boxes"]))
    console.print(_backends(found["backends"]))
    if shared := found.get("address"):
        console.print(Text(f"{shared['address']} is held by {' and '.join(shared['holders']) or 'nobody'}"))
    for warning in found["warnings"]:
        console.print(Text(f"! {warning}", "yellow"), soft_wrap=True)


def make_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        # names are what people copy from here: only the reasons are broken over lines
        table.add_column(column, overflow="fold", no_wrap=column != "why", ratio=1 if column == "why" else None)
    return table


def _boxes(boxes: dict[str, Any]) -> Table:
    table = make_table("box", "mode", "memory left", "services", "release")
    for name, box in boxes.items():
        if "error" in box:
            table.add_row(name, Text("does not answer", "red"), "", "", "")
            continue
        if not box["managed"]:
            table.add_row(name, "not managed", "", "", "")
            continue
        table.add_row(
            name, box["mode"] or "none yet", _memory(box["memory"]), _services(box["units"]), box["release"] or ""
        )
    return table


def _services(units: dict[str, Any]) -> Text:
    """Named are those that do not run; there is no news in the others."""
    states = {SERVICES[unit]: seen["active"] for unit, seen in units.items() if unit in SERVICES}
    down = [f"{name} {state}" for name, state in sorted(states.items()) if state != "active"]
    if not states:
        return Text("none yet")
    return Text(", ".join(down), "red") if down else Text(f"{len(states)} active")


def _memory(memory: dict[str, Any] | None) -> str:
    available, total = (memory or {}).get("available"), (memory or {}).get("total")
    if available is None or total is None:
        return "unknown"
    return f"{available / GIB:.1f} of {gib(total)}"


def _backends(backends: list[dict[str, Any]]) -> Table:
    table = make_table("backend", "pool", "unit", "requests", "why")
    for entry in backends:
        unit = _group(entry.get("group")) or entry["unit"] or ("" if entry["managed"] else "not managed")
        table.add_row(Text(entry["backend"]), _pool(entry["member"]), unit, _requests(entry), Text(_why(entry)))
    return table


def _group(group: dict[str, Any] | None) -> Text | None:
    """What a group is as one thing; the states of its units say less."""
    if group is None:
        return None
    return Text(group["state"], {"running": "", "starting": "yellow"}.get(group["state"], "red"))


def _pool(member: dict[str, bool]) -> Text:
    inside = [box for box, is_in in member.items() if is_in]
    if inside and len(inside) == len(member):
        return Text("in", "green")
    return Text(f"only {', '.join(inside)}", "yellow") if inside else Text("out", "red")


def _why(entry: dict[str, Any]) -> str:
    if entry["drains"]:
        return f"drained by {', '.join(entry['drains'])}"
    if (group := entry.get("group")) and group["why"]:
        return str(group["why"])
    return str(entry["evidence"] or entry["reason"] or "")


def _requests(entry: dict[str, Any]) -> str:
    """Those that run, and those that wait where any do."""
    running, waiting = entry["running"], entry["waiting"]
    if running is None:
        return ""
    return f"{running} + {waiting}" if waiting else str(running)
