"""The behaviour score, and what stands beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import comb
from statistics import fmean

from ..suite.scenario import KINDS
from ..trial.record import Record

Scores = dict[str, list[float]]


def by_scenario(records: Iterable[Record]) -> Scores:
    """The scores of each scenario's trials, in the order of the trials."""
    found: Scores = defaultdict(list)
    for record in sorted(records, key=lambda one: one.trial):
        found[record.scenario].append(record.score)
    return dict(found)


def behaviour(records: Sequence[Record]) -> float:
    """0 to 100: the mean of the scenarios' means; 0 without a trial."""
    scores = by_scenario(records)
    return 100 * fmean(map(fmean, scores.values())) if scores else 0.0


def kinds(records: Sequence[Record]) -> dict[str, float]:
    """The behaviour of each kind that was tried, 0 to 100."""
    present = {record.kind for record in records}
    return {kind: behaviour([one for one in records if one.kind == kind]) for kind in KINDS if kind in present}


def every_time(records: Sequence[Record], k: int) -> float | None:
    """pass^k, 0 to 100: how likely k trials of a scenario are right every time, C(c, k) / C(n, k), mean over scenarios.

    (Yao and others, tau-bench, arXiv 2406.12045.) None where a scenario has fewer than k trials.
    """
    scores = by_scenario(records)
    if not scores or any(len(one) < k for one in scores.values()):
        return None
    return 100 * fmean(comb(sum(s == 1 for s in one), k) / comb(len(one), k) for one in scores.values())
