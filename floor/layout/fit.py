"""The constants of the speed model, from published rows: least squares of the relative error.

Where a kind of memory has too few rows for two constants, its efficiency is that of the kind next to it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from floor.layout.cache import Setting
from floor.layout.cards import APPLE, CARDS, DDR, GDDR, HBM, LPDDR
from floor.layout.rows import BATCHES, ONE_STREAM, PROMPTS, Row, model
from floor.layout.speed import Constants, Load, Stage, cached, reading, together
from floor.layout.weights import computed, read_bytes

_NEXT = {HBM: GDDR, APPLE: LPDDR}
_INSIDE = 15e-6  # seconds of an exchange between cards of one box; assumed: no row has it
_HANDING = (100e-6, 20e-6)  # seconds from stage to stage over a fabric and in a box; assumed: no row has it
_NARROWINGS = 30  # of an interval of 1, each to two thirds: five digits
_ENDLESS = 1e18  # of compute: this part takes no time


@dataclass(frozen=True)
class Shown:
    """A row with what the model says to it. `error`: (predicted - published) / published."""

    row: Row
    predicted: float

    @property
    def error(self) -> float:
        """How far off, as a share of what was published."""
        return self.predicted / self.row.speed - 1


@functools.cache
def constants() -> Constants:
    """Return the constants that fit the rows marked for it."""
    efficiency: dict[str, float] = {}
    fixed: dict[str, float] = {}
    for kind in (LPDDR, GDDR, HBM, APPLE):
        rows = [row for row in ONE_STREAM if row.fit and row.tp == 1 and CARDS[row.card].kind == kind]
        points = [(_read(row) / CARDS[row.card].bandwidth, 1 / row.speed) for row in rows]
        if kind in _NEXT:
            efficiency[kind] = efficiency[_NEXT[kind]]
            left = [seconds - ideal / efficiency[kind] for ideal, seconds in points]
            fixed[kind] = max(0.0, sum(left) / len(left))
        else:
            slope, fixed[kind] = _line(points)
            efficiency[kind] = 1 / slope
    efficiency[DDR], fixed[DDR] = efficiency[LPDDR], fixed[LPDDR]  # assumed: no row has it
    first = Constants(efficiency, fixed, _reading(), 1.0, (0.0, _INSIDE), _HANDING)
    first = replace(first, alike=_alike(first))
    (two,) = [row for row in ONE_STREAM if row.fit and row.tp > 1]
    spare = 1 / two.speed - 1 / predict(two, first)
    return replace(first, hop=(spare / (2 * len(model(two.model).layers)), _INSIDE))


def predict(row: Row, found: Constants) -> float:
    """Given a row and constants, return the tokens a second that the model says."""
    load, stage = _load(row), _stage(row)
    if row.prompt:
        return row.prompt / reading(load, [stage], row.prompt, found, depth=row.depth)
    return together(load, [stage], row.batch, row.depth, found)


def shown(rows: Sequence[Row]) -> list[Shown]:
    """Given rows, return each with what the model says to it."""
    return [Shown(row, predict(row, constants())) for row in rows]


def median(values: Sequence[float]) -> float:
    """Given numbers, return the middle one of their sizes."""
    ordered = sorted(abs(value) for value in values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _load(row: Row) -> Load:
    bits, dense, ends = row.bits
    weights = computed(model(row.model), bits, dense_bits=dense, ends_bits=ends)
    return Load(model(row.model), weights, Setting(tp=row.tp))


def _stage(row: Row) -> Stage:
    return Stage((CARDS[row.card],) * row.tp, 0, len(model(row.model).layers), across=row.tp > 1)


def _read(row: Row) -> float:
    load = _load(row)
    return read_bytes(load.weights, load.shape, 1) + cached(load, _stage(row), row.depth)


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Given (ideal seconds, measured seconds), return slope and offset, not below 0, with the least squares of relative
    errors."""
    a = sum((x / y) ** 2 for x, y in points)
    b = sum(x / y**2 for x, y in points)
    c = sum(1 / y**2 for _, y in points)
    d, e = sum(x / y for x, y in points), sum(1 / y for _, y in points)
    bottom = a * c - b * b
    offset = (a * e - b * d) / bottom
    return ((d * c - e * b) / bottom, offset) if offset > 0 else (d / a, 0.0)


def _reading() -> tuple[float, float, float]:
    """Shares of the compute, from prompts at several depths: seconds are the sum of each part's by its share."""
    parts = ((1.0, _ENDLESS, _ENDLESS), (_ENDLESS, 1.0, _ENDLESS), (_ENDLESS, _ENDLESS, 1.0))
    alone = [Constants({}, {}, part, 1.0, (0, 0), (0, 0)) for part in parts]
    rows = [row for row in PROMPTS if row.fit]
    columns = [[row.speed / predict(row, one) for one in alone] for row in rows]
    dense, mixture, attending = (1 / factor for factor in solve(columns, [1.0] * len(rows)))
    return dense, mixture, attending


def solve(rows: Sequence[Sequence[float]], wanted: Sequence[float]) -> list[float]:
    """Given rows of factors and what each is to come to, return the weights with the least squares (normal equations,
    eliminated in turn)."""
    many = range(len(rows[0]))
    table = [[sum(row[m] * row[n] for row in rows) for n in many] for m in many]
    right = [sum(row[m] * value for row, value in zip(rows, wanted, strict=True)) for m in many]
    for m in many:
        for n in many:
            if n != m:
                factor = table[n][m] / table[m][m]
                table[n] = [below - factor * above for below, above in zip(table[n], table[m], strict=True)]
                right[n] -= factor * right[m]
    return [right[m] / table[m][m] for m in many]


def _alike(found: Constants) -> float:
    """How alike the tokens of a step choose their experts: least squares of the relative errors of the fitted rows of
    several requests. They have one minimum."""
    rows = [row for row in BATCHES if row.fit]

    def wrong(alike: float) -> float:
        constants = replace(found, alike=alike)
        return sum((predict(row, constants) / row.speed - 1) ** 2 for row in rows)

    low, high = 0.0, 1.0
    for _ in range(_NARROWINGS):
        third = (high - low) / 3
        low, high = (low, high - third) if wrong(low + third) < wrong(high - third) else (low + third, high)
    return (low + high) / 2


def everything() -> tuple[Row, ...]:
    """All published rows."""
    return (*ONE_STREAM, *BATCHES, *PROMPTS)
