"""The figures of a result, as every report shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from ..contract import names
from ..trial.judge import CUT
from ..trial.record import STREAMED, WHOLE, Record
from ..trial.recorded import unanswered
from ..verdict import contract, score
from .result import Result

MOST_CUT = 0.2  # share of trials


@dataclass(frozen=True)
class Check:
    """A contract check over all trials: in how many it applied, in how many it failed, by mode."""

    name: str
    applied: int
    failed: int
    streamed: int
    whole: int
    example: str
    scenario: str

    @property
    def held(self) -> bool:
        return not self.failed


def checks(records: Sequence[Record]) -> list[Check]:
    """Every check of the contract, in the catalogue's order."""
    found = []
    for name in names.CHECKS:
        failed, applied = contract.failures(records, name)
        by = {mode: sum(one.mode == mode for one in failed) for mode in (STREAMED, WHOLE)}
        example = (failed[0].checks[name], failed[0].scenario) if failed else ("", "")
        found.append(Check(name, applied, len(failed), by[STREAMED], by[WHOLE], *example))
    return found


def errors(records: Sequence[Record]) -> list[Record]:
    """Trials that ended in an error of the server or without an answer: failures, and listed apart."""
    return [one for one in records if one.error]


def blind(before: Result) -> str:
    """What a baseline cannot show, in words, empty where that is nothing: of a model whose thoughts take all the tokens
    of an answer no gate can tell whether it still calls tools."""
    cut, count = sum(CUT in one.reason for one in before.trials), len(before.trials)
    if cut <= MOST_CUT * count:
        return ""
    most = (before.setting.get("sampling") or {}).get("max_tokens")
    return (
        f"{cut} of {count} trials of the baseline were cut off at {most} tokens, so it shows little: a model that "
        "thinks needs a baseline with more (--max-tokens)"
    )


def summary(result: Result) -> dict[str, Any]:
    """The figures as JSON."""
    records = result.trials
    fewest = min(map(len, score.by_scenario(records).values()), default=0)
    return {
        "behaviour": round(score.behaviour(records), 1),
        "kinds": {kind: round(value, 1) for kind, value in score.kinds(records).items()},
        "every_time": None if fewest < 1 else {"k": fewest, "score": _rounded(score.every_time(records, fewest))},
        "contract": {one.name: {"applied": one.applied, "failed": one.failed} for one in checks(records)},
        "errors": len(errors(records)),
        "unanswered": sum(map(unanswered, records)),
        "first_token": times([one.first_token for one in records if one.first_token is not None]),
        "first_tool_byte": times([one.first_tool_byte for one in records if one.first_tool_byte is not None]),
    }


def times(seconds: Sequence[float]) -> dict[str, float] | None:
    """Median and 95th percentile, in seconds; None without any."""
    if not seconds:
        return None
    high = quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]
    return {"median": round(median(seconds), 3), "p95": round(high, 3)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
