"""Reads a whole metrics page of an engine: every family, strictly, and quickly where the page was read before.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
A page keeps its series from one reading to the next; what stands before a number is parsed once and then looked up.
`benchmarks/metrics.py` has the figures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto

from floor.errors import FloorError

from .labels import help_text, own, read
from .values import Family, Histogram, Kind, Labels, Page, Summary, Value

MOST_LINES = 40_000  # samples of one page; a vLLM page has 600, and one of eight engines 5,000
OWN = "floor_"  # names that are ours alone
COUNTED = 2.0**63  # beyond what a counter of 64 bits holds nothing was counted, and a sum would never be rid of it

_SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*+"
    r'(?:\{[ \t]*+((?:[a-zA-Z_][a-zA-Z0-9_]*[ \t]*+=[ \t]*+"(?:[^"\\]|\\.)*+"[ \t]*+,?[ \t]*+)*+)\})?[ \t]*+'
    r"([^ \t{]++)(?:[ \t]++-?[0-9.]++)?[ \t]*+(?:#[ \t].*+)?"
)
_KINDS = {kind.value: kind for kind in Kind}
_PARTS = ("_bucket", "_sum", "_count")


class UnreadableError(FloorError):
    """The page is none; says at which line and why."""


class _Role(Enum):
    VALUE, BUCKET, SUM, COUNT, QUANTILE, DROPPED = auto(), auto(), auto(), auto(), auto(), auto()


@dataclass(frozen=True, slots=True)
class _Series:
    """What stands before a number, understood. `at` is the bound of a bucket or the share of a quantile."""

    role: _Role
    family: str
    labels: Labels
    at: float = 0.0


@dataclass(slots=True)
class _Building:
    """A histogram or summary whose lines are being read."""

    at: dict[float, float] = field(default_factory=dict)
    sum: float | None = None
    count: float | None = None


class Reader:
    """Reads the pages of one engine."""

    def __init__(self) -> None:
        self._known: dict[str, _Series] = {}
        self._types: dict[str, Kind] = {}

    def read(self, body: bytes) -> Page:
        """Given the bytes of a page, return its families. Raise UnreadableError if any of it is no metrics page.

        Left out: `_created` (when a counter began, which must not be added up), names that are floor's own, and
        numbers that are none. A counter or histogram below zero, or beyond `COUNTED`, is none, too.
        """
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise UnreadableError("is not text in UTF-8") from error
        types: dict[str, Kind] = {}
        helps: dict[str, str] = {}
        samples: list[tuple[int, str]] = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("#"):
                _comment(line, types, helps)
            elif line and not line.isspace():
                samples.append((number, line.strip()))
        if not samples:
            raise UnreadableError("holds no metric")
        if len(samples) > MOST_LINES:
            raise UnreadableError(f"has {len(samples)} lines; a page of an engine has some hundred")
        if types != self._types:
            self._known, self._types = {}, types
        return self._families(samples, helps)

    def _families(self, samples: list[tuple[int, str]], helps: dict[str, str]) -> Page:
        plain: dict[str, dict[Labels, Value]] = {}
        built: dict[str, dict[Labels, _Building]] = {}
        used: dict[str, _Series] = {}
        known = self._known
        for number, line in samples:
            key, _, text = line.rpartition(" ")
            series = known.get(key)
            if series is None or "_" in text:
                series, text, key = self._parse(number, line)
            used[key] = series
            try:
                value = float(text)
            except ValueError:
                raise UnreadableError(f"line {number}: {text[:40]!r} is no number") from None
            role = series.role
            if value != value or role is _Role.DROPPED:
                continue
            if role is _Role.VALUE:
                plain.setdefault(series.family, {})[series.labels] = value
                continue
            building = built.setdefault(series.family, {}).setdefault(series.labels, _Building())
            if role is not _Role.QUANTILE and abs(value) > COUNTED:
                continue
            if role is _Role.SUM:
                building.sum = value
            elif role is _Role.COUNT:
                building.count = value
            else:
                building.at[series.at] = value
        self._known = used
        return self._page(plain, built, helps)

    def _page(
        self, plain: dict[str, dict[Labels, Value]], built: dict[str, dict[Labels, _Building]], helps: dict[str, str]
    ) -> Page:
        page: dict[str, Family] = {}
        for name, children in plain.items():
            kind = self._types.get(name) or self._types.get(name.removesuffix("_total"), Kind.UNTYPED)
            if kind is Kind.COUNTER:
                children = {
                    labels: value
                    for labels, value in children.items()
                    if isinstance(value, float) and 0 <= value <= COUNTED
                }
            elif kind in (Kind.HISTOGRAM, Kind.SUMMARY):
                kind = Kind.UNTYPED
            page[name] = Family(name, kind, helps.get(name, ""), children)
        for name, found in built.items():
            kind = self._types[name]
            make = _histogram if kind is Kind.HISTOGRAM else _summary
            made = {labels: value for labels, building in found.items() if (value := make(building)) is not None}
            page[name] = Family(name, kind, helps.get(name, ""), made)
        return page

    def _parse(self, number: int, line: str) -> tuple[_Series, str, str]:
        """Return the series of a line, the text of its number, and what stands before that."""
        match = _SAMPLE.fullmatch(line)
        if match is None or "_" in match[3]:
            raise UnreadableError(f"line {number} is no metric: {line[:60]!r}")
        name, text = match[1], match[3]
        try:
            labels = read(match[2] or "")
        except ValueError as error:
            raise UnreadableError(f"line {number}: {error}") from None
        return self._series(number, name, labels), text, line[: match.start(3)].rstrip()

    def _series(self, number: int, name: str, labels: dict[str, str]) -> _Series:
        if name.startswith(OWN) or self._is_created(name):
            return _Series(_Role.DROPPED, name, ())
        role, family, at = _Role.VALUE, name, 0.0
        base = next((name.removesuffix(part) for part in _PARTS if name.endswith(part)), "")
        kind = self._types.get(base)
        if name not in self._types and (
            kind is Kind.HISTOGRAM or (kind is Kind.SUMMARY and not name.endswith("_bucket"))
        ):
            family = base
            role = {"_bucket": _Role.BUCKET, "_sum": _Role.SUM, "_count": _Role.COUNT}[name[len(base) :]]
        elif self._types.get(name) is Kind.SUMMARY and "quantile" in labels:
            role = _Role.QUANTILE
        if role in (_Role.BUCKET, _Role.QUANTILE):
            word = "le" if role is _Role.BUCKET else "quantile"
            at = _bound(number, name, word, labels.pop(word, ""))
        return _Series(role, family, own(labels), at)

    def _is_created(self, name: str) -> bool:
        base = name.removesuffix("_created")
        return base != name and (base in self._types or f"{base}_total" in self._types)


def _comment(line: str, types: dict[str, Kind], helps: dict[str, str]) -> None:
    """Take the first TYPE and HELP of each name: a page may not have two (warmans/prometheus-aggregate-exporter#1)."""
    words = line.split(None, 3)
    if len(words) == 4 and words[1] == "TYPE":
        types.setdefault(words[2], _KINDS.get(words[3].strip(), Kind.UNTYPED))
    elif len(words) == 4 and words[1] == "HELP":
        helps.setdefault(words[2], help_text(words[3].strip()))


def _bound(number: int, name: str, label: str, text: str) -> float:
    try:
        bound = float(text)
    except ValueError:
        bound = float("nan")
    if bound != bound:
        raise UnreadableError(f"line {number}: {name} has no number as {label}")
    return bound


def _histogram(building: _Building) -> Histogram | None:
    """Cumulative whatever the page says: an engine that counts while it writes may be off by one for a moment."""
    bounds = sorted(bound for bound, count in building.at.items() if count >= 0)
    counts: list[float] = []
    for bound in bounds:
        counts.append(max(building.at[bound], counts[-1] if counts else 0.0))
    if not bounds or bounds[-1] != float("inf"):
        if building.count is None or building.count < 0:
            return None
        bounds.append(float("inf"))
        counts.append(max(building.count, counts[-1] if counts else 0.0))
    return Histogram(tuple(bounds), tuple(counts), building.sum)


def _summary(building: _Building) -> Summary | None:
    if building.count is not None and building.count < 0:
        return None
    return Summary(building.count, building.sum, tuple(sorted(building.at.items())))
