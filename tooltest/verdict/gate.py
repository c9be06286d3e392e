"""PASS, BLOCK or HOLD: is this build worse at calling tools than the one before?

Two stages. After the first trials a build passes, is blocked because a whole kind of scenario collapsed, or is tried
again; after the fresh trials everything counts, and what is still open is HOLD: not enough evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ..trial.record import Record
from . import score, statistics
from .contract import Broken, broken

PASS, BLOCK, HOLD, MORE = "PASS", "BLOCK", "HOLD", "MORE"
MARGIN = 5.0  # points that a build may have lost without anybody having noticed
COLLAPSE_FROM, COLLAPSE_BY, ALPHA = 80.0, 40.0, 0.05


@dataclass(frozen=True)
class Verdict:
    """`word` is one of the four; MORE asks for the fresh trials. `reasons`: why, a sentence each.

    `difference` is the candidate's behaviour less the baseline's on the scenarios that both have, with its 96 %
    interval; `could_see` the smallest drop that these trials would have blocked with 80 % power. All are points.
    """

    word: str
    reasons: tuple[str, ...]
    baseline: float
    candidate: float
    difference: float
    low: float
    high: float
    could_see: float
    broken: tuple[Broken, ...] = ()


def decide(
    baseline: Sequence[Record],
    first: Sequence[Record],
    fresh: Sequence[Record] = (),
    *,
    identical: bool = False,
) -> Verdict:
    """Given the baseline's trials, the candidate's first ones and the fresh ones (none yet: ()), return the verdict.

    `identical`: a copy of a build that has passed elsewhere: it passes where nothing speaks against it, because few
    trials could never prove that it lost less than MARGIN.
    """
    both = {one.scenario for one in baseline} & {one.scenario for one in first}
    baseline = [one for one in baseline if one.scenario in both]
    candidate = [one for one in (*first, *fresh) if one.scenario in both]
    if not candidate:
        return Verdict(HOLD, ("the two have no scenario in common",), 0.0, 0.0, 0.0, 0.0, 0.0, 100.0)
    before, after = score.by_scenario(baseline), score.by_scenario(candidate)
    mean = 100 * fmean(fmean(after[one]) - fmean(before[one]) for one in before)
    error = 100 * statistics.standard_error(before, after)
    reach = statistics.Z_BOTH_SIDES * error
    low, high, mean = (
        round(value, 9) for value in (mean - reach, mean + reach, mean)
    )  # -0.0000000000000001 is no loss
    faults = broken(baseline, first, fresh)
    word, reasons = _word(_Evidence(mean, low, high, _collapsed(baseline, candidate), faults), bool(fresh), identical)
    return Verdict(
        word,
        tuple(reasons),
        score.behaviour(baseline),
        score.behaviour(candidate),
        mean,
        low,
        high,
        min(MARGIN, reach) + statistics.Z_POWER * error,
        tuple(faults),
    )


@dataclass(frozen=True)
class _Evidence:
    mean: float
    low: float
    high: float
    collapsed: list[str]
    broken: Sequence[Broken]


def _word(seen: _Evidence, final: bool, identical: bool) -> tuple[str, list[str]]:
    suspect = [one.sentence for one in seen.broken]
    if seen.collapsed:
        return BLOCK, suspect + seen.collapsed
    worse = _worse(seen)
    if not final:
        doubts = suspect + worse
        if not doubts and (identical or seen.low > -MARGIN):
            return PASS, [_fine(seen, identical)]
        return MORE, doubts or [f"it may have lost {-seen.low:.1f} points, more than {MARGIN:g}"]
    proven = [one.sentence for one in seen.broken if one.again]
    if proven or worse:
        return BLOCK, proven + worse
    if suspect:
        return HOLD, suspect
    if identical or seen.low > -MARGIN:
        return PASS, [_fine(seen, identical)]
    return HOLD, [f"it may have lost {-seen.low:.1f} points, more than {MARGIN:g}, and may have lost none"]


def _worse(seen: _Evidence) -> list[str]:
    if seen.high < 0:
        return [f"behaviour fell by {-seen.mean:.1f} points, between {-seen.high:.1f} and {-seen.low:.1f}"]
    if seen.mean < -MARGIN:
        return [f"behaviour fell by {-seen.mean:.1f} points, more than {MARGIN:g}"]
    return []


def _fine(seen: _Evidence, identical: bool) -> str:
    if identical and seen.low <= -MARGIN:
        return "nothing speaks against this copy of a build that has passed"
    return f"no contract check broke, and it lost less than {MARGIN:g} points (at most {max(0.0, -seen.low):.1f})"


def _collapsed(baseline: Sequence[Record], candidate: Sequence[Record]) -> list[str]:
    """Kinds that were good, are not, and cannot be so by chance."""
    before, after = score.kinds(baseline), score.kinds(candidate)
    found = []
    for kind, was in before.items():
        now = after.get(kind, was)
        if was < COLLAPSE_FROM or was - now < COLLAPSE_BY:
            continue
        if statistics.fisher(_right(candidate, kind), _right(baseline, kind)) < ALPHA / len(before):
            found.append(f"{kind} collapsed from {was:.0f} to {now:.0f}")
    return found


def _right(records: Sequence[Record], kind: str) -> tuple[int, int]:
    mine = [one.score for one in records if one.kind == kind]
    return sum(value == 1 for value in mine), len(mine)


def unclear(verdict: Verdict) -> Verdict:
    """The verdict where fresh trials are wanted and cannot be had."""
    return replace(verdict, word=HOLD, reasons=(*verdict.reasons, "there are no fresh trials to tell more"))
