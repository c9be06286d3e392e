"""Which layout, why, and what would change the answer.

Copies unless one box cannot hold the cache that is needed: what is needed comes first, then what survives the loss of a
box, then throughput, then the speed of one stream. The first of these in which two layouts differ decides.

Where nothing survives the loss of any box, a group is lost with each of its boxes, a single copy with one.
So a group has to be worth it: `WORTH` times as quick as a copy that holds what is needed, which is also as far as
speeds of several requests are off (docs/layout.md). Beside other models no box would stand idle for a copy: fewer boxes
to lose count before any speed there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from floor.layout.fleet import Place, Want
from floor.layout.layouts import REPLICAS, SPLIT, Layout, find
from floor.layout.ledger import Books
from floor.layout.speed import Constants

WORTH = 1.5  # times the throughput of a copy: less is no reason to stand on several boxes
_MOST = 256  # requests at once up to which a change of the answer is looked for


@dataclass(frozen=True)
class Advice:
    """The layout that is recommended (None where nothing fits), the reasons in the order that decided, and what would
    change the answer. `enough`: it holds what is asked for.
    """

    chosen: Layout | None
    reasons: tuple[str, ...]
    changes: tuple[str, ...]
    enough: bool


@dataclass(frozen=True)
class _Need:
    """How many of the longest requests each backend is to hold at once, and whether other models are on the boxes."""

    at_once: int
    beside: bool = False


def advise(
    want: Want, layouts: Sequence[Layout], places: Sequence[Place], constants: Constants, *, beside: bool = False
) -> Advice:
    """Given a model, the layouts that fit and what they were found with, return which one to take. `beside`: other
    models are on these boxes."""
    need, found_with = _Need(want.at_once, beside), (places, constants)
    chosen = _best(layouts, need)
    if chosen is None:
        return Advice(None, (), (), enough=False)
    reasons = tuple(_reasons(want, chosen, [one for one in layouts if one is not chosen], need))
    changes = (*_by_need(want, chosen, layouts, found_with, need), *_by_edit(want, chosen, found_with, need))
    return Advice(chosen, reasons, changes, enough=chosen.at_once >= want.at_once)


def best(layouts: Sequence[Layout], at_once: int) -> Layout | None:
    """Given layouts of a model that is alone, and how many of the longest requests each backend is to hold, return the
    one to take, None of none. Where none holds so many, the one that holds most."""
    return _best(layouts, _Need(at_once))


def _best(layouts: Sequence[Layout], need: _Need) -> Layout | None:
    return max(layouts, key=lambda layout: _value(layout, need), default=None)


_RULES: dict[str, Callable[[Layout, _Need], float]] = {
    "holds": lambda layout, need: min(layout.at_once, need.at_once),
    "lasts": lambda layout, need: -len(layout.fatal) if need.beside else -bool(layout.fatal),
    "throughput": lambda layout, _: layout.throughput / (WORTH if layout.mode == SPLIT else 1),
    "one": lambda layout, _: layout.one,
    "boxes": lambda layout, _: -len(layout.boxes),
}


def _value(layout: Layout, need: _Need) -> tuple[float, ...]:
    return tuple(value(layout, need) for value in _RULES.values())


def _say(rule: str, layout: Layout, other: Layout, want: Want) -> str:
    match rule:
        case "holds":
            return _holds(layout, other, want)
        case "lasts":
            if layout.lasts:
                return f"the model survives the loss of any one box; not so {other.title}"
            ends = f"the loss of {' or '.join(layout.fatal)} ends the model"
            return f"{ends}, that of {' or '.join(other.fatal)} with {other.title}"
        case "throughput":
            if other.throughput > layout.throughput:
                words = f"not {WORTH:g} times the {layout.throughput:.0f} of a copy, and is lost with each of its boxes"
                return f"{other.title} makes {other.throughput:.0f} tokens a second, {words}"
            return f"{layout.throughput:.0f} tokens a second in all against {other.throughput:.0f} of {other.title}"
        case "one":
            return f"{layout.one:.0f} tokens a second for one stream against {other.one:.0f} of {other.title}"
    return "it needs the fewest boxes"


def _holds(layout: Layout, other: Layout | None, want: Want) -> str:
    asked = f"{want.at_once} request{'s' * (want.at_once != 1)} of {want.context:,} tokens at once"
    if layout.at_once < want.at_once:
        return f"nothing that fits holds {asked}; this holds most: {layout.at_once:.1f}"
    if math.isinf(layout.at_once):
        return "it keeps nothing between tokens: its memory bounds no request"
    than = f"; {other.title}: {other.at_once:.1f}" if other is not None else ""
    each = "each backend" if len(layout.backends) > 1 else "it"
    return f"{each} holds {asked} ({layout.at_once:.1f}{than})"


def _reasons(want: Want, chosen: Layout, others: Sequence[Layout], need: _Need) -> list[str]:
    """One line for each rule that ruled a layout out, beside the best of those; the rest come to the next rule."""
    left = list(others)
    lines = []
    for rule, value in _RULES.items():
        mine = value(chosen, need)
        out = [one for one in left if value(one, need) < mine]
        if out:
            lines.append(_say(rule, chosen, max(out, key=lambda one: _value(one, need)), want))
        left = [one for one in left if one not in out]
    if not lines:
        lines.append(_holds(chosen, None, want) if chosen.at_once >= want.at_once else "nothing else fits")
    elif chosen.at_once < want.at_once and not lines[0].startswith("nothing"):
        lines.insert(0, _holds(chosen, None, want))
    return lines


def _by_need(
    want: Want, chosen: Layout, layouts: Sequence[Layout], found_with: tuple[Sequence[Place], Constants], need: _Need
) -> list[str]:
    """From how many of the longest requests at once another layout is right, which is from where this one has no room;
    and below how many, which is where copies have."""
    places, constants = found_with

    def right(many: int) -> Layout | None:
        """What would be recommended then: a group is cut for what it holds, and copies that do not are left out."""
        asked = find(Books(replace(want, at_once=many), constants), places)
        found = _best(asked.layouts, replace(need, at_once=many))
        return found if found and found.at_once >= many and found.title != chosen.title else None

    lines = []
    above = int(min(chosen.at_once, _MOST)) + 1
    if want.at_once < above < _MOST and (other := right(above)):
        many = f"{above - 1} request{'s' * (above != 2)}"
        lines.append(f"{other.title} becomes right above {many} of {want.context:,} at once")
    copies = max((layout.backends for layout in layouts if layout.mode == REPLICAS), key=len, default=())
    for below in sorted({int(one.at_once) for one in copies if 1 <= one.at_once < want.at_once}, reverse=True):
        if other := right(below):
            lines.append(f"{other.title} becomes right up to {below} of {want.context:,} at once")
            break
    return lines


def _by_edit(want: Want, chosen: Layout, found_with: tuple[Sequence[Place], Constants], need: _Need) -> list[str]:
    """What another type of cache, or requests of half the length, would change."""
    places, constants = found_with
    edits = {
        "with kv_cache fp8": replace(want.as_other(), kv_cache="fp8") if want.kv_cache == "auto" else None,
        "with kv_cache auto": replace(want.as_other(), kv_cache="auto") if want.kv_cache.startswith("fp8") else None,
        f"with requests of at most {want.context // 2:,} tokens": want.within(max(1, want.context // 2)),
    }
    lines = []
    for words, edited in edits.items():
        if edited is None or want.engine != "vllm" or not want.shape.causal:
            continue
        other = _best(find(Books(edited, constants), places).layouts, need)
        if other is not None and (other.mode, other.boxes) != (chosen.mode, chosen.boxes):
            lines.append(f"{words}: {other.title}")
        elif other is None and chosen.mode == SPLIT:
            lines.append(f"{words}: nothing fits")
    return lines
