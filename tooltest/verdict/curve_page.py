"""The operating curve as a table of Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from . import curve, gate

MEANS = (0.6, 0.8, 0.92)


def lines(gates: int) -> Iterator[str]:
    """Given how many gates for each row, yield the page's lines; each model's mean skill has a table."""
    for mean in MEANS:
        yield f"Models that do {100 * mean:.0f} of 100 right, {gates} gates a row, {len(curve.SCENARIOS)} scenarios:"
        yield ""
        yield "| what changed | BLOCK | HOLD | PASS |"
        yield "|---|---|---|---|"
        for change, said in curve.curve(gates, mean=mean).items():
            shares = (f"{100 * said[word] / gates:.1f}%" for word in (gate.BLOCK, gate.HOLD, gate.PASS))
            yield f"| {change} | {' | '.join(shares)} |"
        yield ""
