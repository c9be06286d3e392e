"""`floor status --watch`: the document of floor.metrics.live as a terminal shows it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from floor.operations.heard import heard
from floor.sizes import GIB, gib

BAR = 10  # characters of a bar
WIDE = 110  # columns below which bars and the time of each token are left out
EVENTS = 6  # at least so many, where there are; more where there is room
TAKEN, TAKEN_WIDE, LEAST = 60, 85, 16  # columns that the rest of a line needs; and of a name that are always there
ABOVE = 3  # warnings, the worst of them first, where there is no room for any below the tables
LATE = 5.0  # seconds after which what is shown is old


def show(documents: Iterable[Mapping[str, Any]], console: Console | None = None) -> None:
    """Draw each document in the place of the last one, on the terminal's other screen, until Ctrl-C.

    Raise what `documents` raises.
    """
    console = console or Console()
    last: Mapping[str, Any] = {}
    with suppress(KeyboardInterrupt), Live(console=console, screen=True, auto_refresh=False) as live:
        for document in arriving(documents, LATE):
            lost = document.get("lost", "")
            last = last if lost else document
            live.update(view(last, str(lost), console.size.height, console.size.width), refresh=True)


def arriving(documents: Iterable[Mapping[str, Any]], late: float) -> Iterator[Mapping[str, Any]]:
    """Pass documents on; where none comes for `late` seconds, say so again and again: what is shown is old then."""
    every = min(1.0, late)
    silent = 0.0
    for document in heard(documents, every):
        silent = silent + every if document is None else 0.0
        if document is not None:
            yield document
        elif silent >= late:
            yield {"lost": f"no word for {silent:.0f} s"}


def view(found: Mapping[str, Any], lost: str, height: int, width: int) -> RenderableType:
    """Given the last document, why there is none now (empty: there is) and the terminal's lines and columns, return
    what to draw. What has no room is left out from below: events first. What needs a look never is."""
    if not found:
        return Text(f"nothing is known yet: {lost}", "red")
    wide = width >= WIDE
    most = max(LEAST, width - (TAKEN_WIDE if wide else TAKEN))
    tables: list[RenderableType] = [
        _models(found, most, wide=wide),
        Text(""),
        _copies(found, most, wide=wide),
        Text(""),
    ]
    tables.append(_boxes(found, wide=wide))
    room = max(0, height - 8 - len(found["models"]) - len(found["copies"]) - len(found["boxes"]))
    warnings = [Text(f"! {text}", "yellow", no_wrap=True, overflow="ellipsis") for text in found["warnings"]]
    shown = warnings[: max(1, room - EVENTS)]
    if len(shown) + 1 > room:  # below they would be cut off, and nobody would know of them
        tables = [*warnings[:ABOVE], *([Text("")] if warnings else []), *tables]
    elif shown:
        tables += [Text(""), *shown]
    events = found["events"][: max(0, room - len(shown) - 2)]
    if events:
        tables += [Text(""), *map(_event, events)]
    return Group(_head(found, lost), Text(""), *tables)


def _head(found: Mapping[str, Any], lost: str) -> Text:
    modes = sorted({box["mode"] for box in found["boxes"].values() if box["up"] and box["mode"]})
    when = time.strftime("%H:%M:%S", time.localtime(found["at"]))
    head = Text(f"floor  {when}  mode {' and '.join(modes) or 'none yet'}  seen by {found['asked']}", "bold")
    if lost:
        head.append(f"  what is below is old: {lost}", "bold red")
    return head


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), expand=True)
    numbers = ("tok/s", "run", "wait", "first token", "each token")
    for column in columns:
        wide = column in ("", "why", "at work")
        side: JustifyMethod = "right" if column in numbers else "left"
        table.add_column(column, justify=side, no_wrap=True, overflow="ellipsis", ratio=1 if wide else None)
    return table


def _columns(*, wide: bool) -> tuple[str, ...]:
    return ("tok/s", "run", "wait", "cache", "first token", *(["each token"] if wide else []))


def named(name: str, most: int) -> str:
    """Given a name and the most characters that it may have, return it, cut where it is too long: of a copy in its
    model, for what tells copies apart is the box."""
    if len(name) <= most:
        return name
    model, at, box = name.rpartition("@")
    kept = most - len(at + box) - 1
    return f"{model[:kept]}…{at}{box}" if at and kept > 0 else f"{name[: most - 1]}…"


def _models(found: Mapping[str, Any], most: int, *, wide: bool) -> Table:
    table = _table("model", *_columns(wide=wide), "")
    for name, one in found["models"].items():
        table.add_row(Text(named(name, most), "bold"), *_figures(one, wide=wide), _served(one))
    return table


def _served(one: Mapping[str, Any]) -> Text:
    if one["away"]:
        return Text(f"away: {one['away']['what']}, back in about {one['away']['left']:.0f} s", "yellow")
    if not one["members"]:
        return Text("nobody serves it", "bold red")
    style = "green" if one["members"] == one["copies"] else "yellow"
    return Text(f"{one['members']} of {one['copies']} serve", style)


def _copies(found: Mapping[str, Any], most: int, *, wide: bool) -> Table:
    table = _table("copy", *_columns(wide=wide), "pool", "why")
    for one in found["copies"]:
        table.add_row(Text(named(one["copy"], most)), *_figures(one, wide=wide), _pool(one), Text(_why(one)))
    return table


def _pool(one: Mapping[str, Any]) -> Text:
    if not one["member"]:
        return Text("out", "red")
    return Text(f"not in {', '.join(one['out_of'])}", "yellow") if one["out_of"] else Text("in", "green")


def _why(one: Mapping[str, Any]) -> str:
    if one["drains"]:
        return f"drained by {', '.join(one['drains'])}"
    return str(one["evidence"] or one["reason"] or "")


def _figures(one: Mapping[str, Any], *, wide: bool) -> Iterator[RenderableType]:
    """What is not known is a dash, never 0."""
    yield _number(one["generated_tokens_per_second"], 1)
    yield _number(one["requests_running"], 0)
    yield _number(one["requests_waiting"], 0)
    yield _bar(one["kv_cache_usage_ratio"], wide=wide)
    for name in ("time_to_first_token_seconds", *(["inter_token_seconds"] if wide else [])):
        times = one[name]
        yield "-" if times is None or times["p50"] is None else _seconds(times["p50"])


def _boxes(found: Mapping[str, Any], *, wide: bool) -> Table:
    table = _table("box", "mode", "memory", "services", "at work")
    for name, box in found["boxes"].items():
        if not box["up"]:
            table.add_row(name, Text("silent", "red"), "", "", Text(box["why"], "red"))
            continue
        down = box["services"]["down"]
        services = Text(f"{len(down)} down", "red") if down else Text(f"{box['services']['active']} active")
        work = box["operation"]
        told = f"floor {work['verb']} of {work['by']}" if work and work["live"] else ""
        table.add_row(name, box["mode"] or "none yet", _memory(box["memory"], wide=wide), services, told)
    return table


def _memory(memory: Mapping[str, Any], *, wide: bool) -> Text:
    total, left = memory["total"], memory["available"]
    if not total or left is None:
        return Text("unknown")
    low = left <= (memory["floor"] or 0.05 * total)
    style = "red" if low else ""
    text = _bar(1 - left / total, style, wide=True).append(" ") if wide else Text("", style)
    return text.append(f"{left / GIB:.1f} of {gib(total)} left")


def _event(event: Mapping[str, Any]) -> Text:
    when = time.strftime("%H:%M:%S", time.localtime(event["at"]))
    return Text(f"{when}  {event['box']}: {event['who']}: {event['text']}", "dim", no_wrap=True, overflow="ellipsis")


def _bar(share: float | None, style: str = "", *, wide: bool) -> Text:
    if share is None:
        return Text("-")
    full = round(BAR * min(1.0, max(0.0, share)))
    return Text(f"{'█' * full}{'░' * (BAR - full)} {share:4.0%}" if wide else f"{share:4.0%}", style)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"
