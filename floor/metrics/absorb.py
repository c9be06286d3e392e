"""What a copy's counters come to over restarts and failed looks: they never go backwards. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .catalogue import STARTED
from .exposition import UnreadableError
from .values import GROWING, Family, Kind, Labels, Page, Value, add, fell

MOST = 100_000  # series kept of one copy; beyond that it makes up new ones without end
SAME_START = 1.0  # seconds by which the start of one process may be told differently

Totals = Mapping[str, Family]


@dataclass(frozen=True)
class Past:
    """One copy's past: `base` is what processes before the present one counted, `last` the newest value of each series
    of this one. `started`: when this one began, unix seconds, where its page tells. `resets`: how many were seen."""

    base: Totals = field(default_factory=dict)
    last: Totals = field(default_factory=dict)
    started: float | None = None
    resets: int = 0


def absorb(past: Past, page: Page) -> Past:
    """Given a copy's past and its page, return its past with that page.

    Where the page tells when its process began, only another start is a restart, and a single counter that falls is
    absorbed alone. Where it does not tell, the first counter that falls says that all began anew. Raise
    UnreadableError if there is no end of new series.
    """
    started = _started(page)
    growing = {name: family for name, family in page.items() if family.kind in GROWING}
    if _restarted(past, growing, started):
        base = _merged(past.base, past.last)
        past = Past(base, {}, started, past.resets + 1)
    else:
        past = _fallen(past, growing)
    last = dict(past.last)
    for name, family in growing.items():
        before = last.get(name)
        known = before.children if before is not None and before.kind is family.kind else {}
        last[name] = replace(family, children={**known, **family.children}) if known else family
    made = Past(past.base, last, started if started is not None else past.started, past.resets)
    if sum(len(family.children) for totals in (made.base, last) for family in totals.values()) > MOST:
        raise UnreadableError(f"has had more than {MOST} series; it makes new ones without end")
    return made


def totals(past: Past, page: Page) -> Page:
    """Given a copy's past and the page whose gauges still count (an empty one where none do), return the page to show:
    counters with all that came before, and what a fresh process has not counted yet."""
    others = {name: family for name, family in page.items() if family.kind not in GROWING}
    return {**others, **_merged(past.base, past.last)}


def _started(page: Page) -> float | None:
    family = page.get(STARTED)
    values = [value for value in family.children.values() if isinstance(value, float)] if family else []
    return max(values, default=None)


def _restarted(past: Past, page: Page, started: float | None) -> bool:
    if started is not None and past.started is not None:
        return abs(started - past.started) > SAME_START
    return any(True for _ in _falls(past, page, counts_only=True))


def _falls(past: Past, page: Page, *, counts_only: bool = False) -> list[tuple[str, Labels]]:
    """The series that are smaller than they were."""
    found = []
    for name, family in page.items():
        before = past.last.get(name)
        if before is None or before.kind is not family.kind or (counts_only and family.kind is Kind.SUMMARY):
            continue
        for labels, value in family.children.items():
            old = before.children.get(labels)
            if old is not None and old is not value and fell(old, value):
                found.append((name, labels))
    return found


def _fallen(past: Past, page: Page) -> Past:
    """The past with single series absorbed that fell while their process went on."""
    falls = _falls(past, page)
    if not falls:
        return past
    fallen: dict[str, Family] = {}
    last = dict(past.last)
    for name, labels in falls:
        family = last[name]
        old = fallen.get(name, replace(family, children={}))
        fallen[name] = replace(old, children={**old.children, labels: family.children[labels]})
        last[name] = replace(family, children={key: value for key, value in family.children.items() if key != labels})
    return replace(past, base=_merged(past.base, fallen), last=last)


def _merged(base: Totals, last: Totals) -> dict[str, Family]:
    """Both together, series by series. A family that changed its type begins anew."""
    merged = dict(base)
    for name, family in last.items():
        before = merged.get(name)
        if before is None or before.kind is not family.kind:
            merged[name] = family
            continue
        children: dict[Labels, Value] = dict(before.children)
        for labels, value in family.children.items():
            children[labels] = add([children[labels], value]) if labels in children else value
        merged[name] = replace(family, children=children)
    return merged
