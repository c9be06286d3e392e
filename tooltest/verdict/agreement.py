"""Do streamed and whole answers agree? Told over all trials, since a single one may differ by chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ..contract import names
from ..trial.record import STREAMED, WHOLE, Record
from . import statistics

ALPHA = 0.001


def agree(records: Sequence[Record], first_calls: frozenset[str]) -> list[Record]:
    """Given trials, and the scenarios that want a call at once, return the trials with the check of agreement in them.

    Compared is how often the first answer called, in as many trials of each mode for each scenario. Trials in which
    another check already tells of a fault are left out. Where one mode calls less often than chance allows, its trials
    without a call fail.
    """
    fair = [one for one in records if one.scenario in first_calls and one.first_calls is not None and _sound(one)]
    pairs = _pairs(fair)
    called = {mode: sum(bool(one.first_calls) for one in pairs[mode]) for mode in pairs}
    count = len(pairs[STREAMED])
    poorer = min(called, key=called.__getitem__)
    other = WHOLE if poorer == STREAMED else STREAMED
    differ = count and statistics.fisher((called[poorer], count), (called[other], count)) < ALPHA
    wrong = f"{poorer} answers called in {called[poorer]} of {count} trials, {other} ones in {called[other]}"
    compared = {id(one) for one in (*pairs[STREAMED], *pairs[WHOLE])}
    return [
        replace(one, checks={**one.checks, names.AGREEMENT: wrong if differ and _fails(one, poorer) else ""})
        if id(one) in compared
        else one
        for one in records
    ]


def _sound(one: Record) -> bool:
    return not any(wrong for name, wrong in one.checks.items() if name != names.AGREEMENT)


def _fails(one: Record, poorer: str) -> bool:
    return one.mode == poorer and not one.first_calls


def _pairs(records: Sequence[Record]) -> dict[str, list[Record]]:
    """The same number of trials of each scenario in both modes."""
    by: dict[str, dict[str, list[Record]]] = defaultdict(lambda: {STREAMED: [], WHOLE: []})
    for one in records:
        by[one.scenario][one.mode].append(one)
    found: dict[str, list[Record]] = {STREAMED: [], WHOLE: []}
    for modes in by.values():
        count = min(map(len, modes.values()))
        for mode, mine in modes.items():
            found[mode] += mine[:count]
    return found
