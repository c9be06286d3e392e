"""What `floor bench` shows."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from floor.bench.draw import bars
from floor.bench.knee import Advice
from floor.bench.level import Level
from floor.bench.run import Run
from floor.cli.tables import PIPED, make_table


def measured(found: Run, advice: Advice, why: str, console: Console | None = None) -> None:
    """Given a run, the advice and why it stopped early, print levels, a picture and the advice."""
    console = _console(console)
    unit = "a second" if found.setting.get("loop") == "open" else "at once"
    table = make_table(unit, "tok/s", "spread", "req/min", "first token p50 / p90", "per token p50 / p90", "errors")
    for level in found.levels:
        table.add_row(
            f"{level.at:g}",
            f"{level.rate:.1f}",
            f"{level.spread:.0%}",
            f"{level.requests_per_minute:.1f}",
            _times(level.first, 1.0, "s"),
            _times(level.each, 1000.0, "ms"),
            f"{level.errors} of {level.requests}" if level.errors else "",
        )
    console.print(table)
    for line in bars(found.levels, advice.at):
        console.print(Text(line), soft_wrap=True)
    if why:
        console.print(Text(f"stopped: {why}", "yellow"), soft_wrap=True)
    console.print(Text(said(advice, unit), "bold"), soft_wrap=True)


def said(advice: Advice, unit: str = "at once") -> str:
    """The advice in a sentence; `unit` is what a level counts."""
    if advice.at is None:
        return f"no advice ({advice.shape or 'nothing usable'}, {advice.sure:.0%} sure): {advice.why}"
    return f"{advice.at:g} {unit} ({advice.shape}, {advice.sure:.0%} sure): {advice.why}"


def compared(one: str, first: Run, other: str, second: Run, console: Console | None = None) -> None:
    """Given two runs and their names, print them level by level."""
    console = _console(console)
    table = make_table("at once", f"tok/s {one}", f"tok/s {other}", "change", "first token p90", "")
    levels: dict[float, tuple[Level | None, Level | None]] = {level.at: (level, None) for level in first.levels}
    for level in second.levels:
        levels[level.at] = (levels.get(level.at, (None, None))[0], level)
    for at, (left, right) in sorted(levels.items()):
        rates = [f"{level.rate:.1f}" if level else "-" for level in (left, right)]
        change = f"{right.rate / left.rate - 1:+.0%}" if left and right and left.rate else "-"
        times = [f"{level.first['p90']:.2f} s" if level and level.first else "-" for level in (left, right)]
        table.add_row(f"{at:g}", *rates, change, *times)
    console.print(table)
    different = [key for key in first.setting if first.setting[key] != second.setting.get(key)]
    if different:
        told = "; ".join(f"{key}: {first.setting[key]} and {second.setting.get(key)}" for key in different)
        console.print(Text(f"the two differ in {told}", "yellow"), soft_wrap=True)


def _times(found: dict[str, float], factor: float, unit: str) -> str:
    if not found:
        return "-"
    return f"{found['p50'] * factor:.2f} / {found['p90'] * factor:.2f} {unit}"


def _console(console: Console | None) -> Console:
    console = console or Console()
    if not console.is_terminal:
        console.width = PIPED
    return console
