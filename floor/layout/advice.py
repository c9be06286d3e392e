"""Which layout, why, and what would change the answer.

Copies unless one box cannot hold the cache that is needed: what is needed comes first, then what survives the loss of a
box, then throughput, then the speed of one stream. The first of these in which two layouts differ decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from floor.layout.fleet import Place, Want
from floor.layout.layouts import SPLIT, Layout, find
from floor.layout.ledger import Books
from floor.layout.speed import Constants

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


def advise(want: Want, layouts: Sequence[Layout], places: Sequence[Place], constants: Constants) -> Advice:
    """Given a model, the layouts that fit and what they were found with, return which one to take."""
    chosen = best(layouts, want.at_once)
    if chosen is None:
        return Advice(None, (), (), enough=False)
    reasons = tuple(_reasons(want, chosen, [one for one in layouts if one is not chosen]))
    changes = (*_by_need(want, chosen, layouts), *_by_edit(want, chosen, places, constants))
    return Advice(chosen, reasons, changes, enough=chosen.at_once >= want.at_once)


def best(layouts: Sequence[Layout], at_once: int) -> Layout | None:
    """Given layouts and how many of the longest requests each backend is to hold, return the one to take, None of
    none. Where none holds so many, the one that holds most."""
    return max(layouts, key=lambda layout: _value(layout, at_once), default=None)


_RULES: dict[str, Callable[[Layout, int], float]] = {
    "holds": lambda layout, need: min(layout.at_once, need),
    "lasts": lambda layout, _: float(layout.lasts),
    "throughput": lambda layout, _: layout.throughput,
    "one": lambda layout, _: layout.one,
    "boxes": lambda layout, _: -len(layout.boxes),
}


def _value(layout: Layout, at_once: int) -> tuple[float, ...]:
    return tuple(value(layout, at_once) for value in _RULES.values())


def _say(rule: str, layout: Layout, other: Layout, want: Want) -> str:
    match rule:
        case "holds":
            return _holds(layout, other, want)
        case "lasts":
            return f"the model survives the loss of any one box; not so {other.title}"
        case "throughput":
            return f"{layout.throughput:.0f} tokens a second in all against {other.throughput:.0f} of {other.title}"
        case "one":
            return f"{layout.one:.0f} tokens a second for one stream against {other.one:.0f} of {other.title}"
    return "it needs the fewest boxes"


def _holds(layout: Layout, other: Layout | None, want: Want) -> str:
    asked = f"{want.at_once} request{'s' * (want.at_once != 1)} of {want.context:,} tokens at once"
    if layout.at_once < want.at_once:
        return f"nothing that fits holds {asked}; this holds most: {layout.at_once:.1f}"
    than = f"; {other.title}: {other.at_once:.1f}" if other is not None else ""
    each = "each backend" if len(layout.backends) > 1 else "it"
    return f"{each} holds {asked} ({layout.at_once:.1f}{than})"


def _reasons(want: Want, chosen: Layout, others: Sequence[Layout]) -> list[str]:
    """One line for each rule that ruled a layout out, beside the best of those; the rest come to the next rule."""
    left = list(others)
    lines = []
    for rule, value in _RULES.items():
        mine = value(chosen, want.at_once)
        out = [one for one in left if value(one, want.at_once) < mine]
        if out:
            lines.append(_say(rule, chosen, max(out, key=lambda one: _value(one, want.at_once)), want))
        left = [one for one in left if one not in out]
    if not lines:
        lines.append(_holds(chosen, None, want) if chosen.at_once >= want.at_once else "nothing else fits")
    elif chosen.at_once < want.at_once and not lines[0].startswith("nothing"):
        lines.insert(0, _holds(chosen, None, want))
    return lines


def _by_need(want: Want, chosen: Layout, layouts: Sequence[Layout]) -> list[str]:
    """From how many of the longest requests at once another layout is right; and below how many."""
    lines = []
    for above in range(want.at_once + 1, _MOST):
        other = best(layouts, above)
        if other is None or other.at_once < above:
            break
        if other is not chosen:
            many = f"{above - 1} request{'s' * (above != 2)}"
            lines.append(f"{other.title} becomes right above {many} of {want.context:,} at once")
            break
    for below in range(want.at_once - 1, 0, -1):
        other = best(layouts, below)
        if other is not None and other is not chosen:
            lines.append(f"{other.title} becomes right up to {below} of {want.context:,} at once")
            break
    return lines


def _by_edit(want: Want, chosen: Layout, places: Sequence[Place], constants: Constants) -> list[str]:
    """What another type of cache, or requests of half the length, would change."""
    edits = {
        "with kv_cache fp8": replace(want.as_other(), kv_cache="fp8") if want.kv_cache == "auto" else None,
        "with kv_cache auto": replace(want.as_other(), kv_cache="auto") if want.kv_cache.startswith("fp8") else None,
        f"with requests of at most {want.context // 2:,} tokens": replace(want, context=max(1, want.context // 2)),
    }
    lines = []
    for words, edited in edits.items():
        if edited is None or want.engine != "vllm" or not want.shape.causal:
            continue
        other = best(find(Books(edited, constants), places).layouts, want.at_once)
        if other is not None and (other.mode, other.boxes) != (chosen.mode, chosen.boxes):
            lines.append(f"{words}: {other.title}")
        elif other is None and chosen.mode == SPLIT:
            lines.append(f"{words}: nothing fits")
    return lines
