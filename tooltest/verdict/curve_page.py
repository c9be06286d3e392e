"""The operating curve as a table of Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, sqrt

from . import curve, gate, statistics

MEANS = (0.6, 0.8, 0.92)
HEAD = """\
# How often the gate says what

Made by `floor tooltest curve --gates {gates}`: the real gate on seeded models, each gate with a model of its own.
With {gates} gates a row a share is known to {error} points either way at worst; more gates take longer and tell more.
What a row means for a build is in [tooltest.md](tooltest.md#the-gate).

"""


def lines(gates: int) -> Iterator[str]:
    """Given how many gates for each row, yield the page's lines; each model's mean skill has a table."""
    yield from HEAD.format(gates=gates, error=ceil(statistics.Z_BOTH_SIDES * 50 / sqrt(gates))).splitlines()
    for mean in MEANS:
        yield f"Models that do {100 * mean:.0f} of 100 right, {gates} gates a row, {len(curve.SCENARIOS)} scenarios:"
        yield ""
        yield "| what changed | BLOCK | HOLD | PASS |"
        yield "|---|---|---|---|"
        for change, said in curve.curve(gates, mean=mean).items():
            shares = (f"{100 * said[word] / gates:.1f}%" for word in (gate.BLOCK, gate.HOLD, gate.PASS))
            yield f"| {change} | {' | '.join(shares)} |"
        yield ""
