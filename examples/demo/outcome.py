"""What the kill cost, in figures: how they are shown, and whether they are what floor promises. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .clients import Answer

# Twice the goals of 3 s and 2 s: a busy machine is slower than a box that only serves.
MOST_OUT, MOST_BACK = 6.0, 4.0
DYING = 1.0  # seconds after the kill within which a request that was on the dead copy has failed


@dataclass(frozen=True)
class Outcome:
    """`killed` is the monotonic time of the signal and `dead` that of its effect; `out` and `back` are the seconds from
    the kill until out of the pool, and from warm until in it. `lost` is how many requests nginx had on the dead copy,
    `passed_on` how many found it dead and went to the other one, `by_copy` how many each copy was asked."""

    answers: tuple[Answer, ...]
    killed: float
    dead: float
    out: float
    back: float
    lost: int
    passed_on: int
    by_copy: Mapping[str, int]

    @property
    def failed(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.whole]

    @property
    def foreign(self) -> list[Answer]:
        """Failures that had nothing to do with the dead copy: begun after its death, or ended long after it."""
        return [one for one in self.failed if one.began > self.dead or one.ended > self.killed + DYING]

    def count(self, status: int) -> int:
        return sum(1 for answer in self.answers if answer.status == status)


def lines(outcome: Outcome) -> list[str]:
    """Given the outcome, return the figures for a person."""
    shares = ", ".join(f"{backend} {count}" for backend, count in outcome.by_copy.items())
    whole = len(outcome.answers) - len(outcome.failed)
    return [
        f"requests  {len(outcome.answers)} streamed (with the chat before them: {shares})",
        f"answered  {whole}, {outcome.passed_on} of them by the other copy after they had found the dead one",
        f"failed    {len(outcome.failed)}; {outcome.lost} were under way on the copy that was killed",
        f"502       {outcome.count(502)}",
    ]


def judge(outcome: Outcome) -> list[str]:
    """Given the outcome, return a line for each promise that was not kept."""
    found = []
    if len(outcome.failed) > outcome.lost or outcome.foreign:
        found.append(f"{len(outcome.foreign)} requests failed that were not on the dead copy")
    if outcome.count(502):
        found.append(f"{outcome.count(502)} answers were 502")
    if outcome.out > MOST_OUT:
        found.append(f"the dead copy was in the pool for {outcome.out:.1f} s, the goal is 3 s")
    if outcome.back > MOST_BACK:
        found.append(f"the warm copy was out of the pool for {outcome.back:.1f} s, the goal is 2 s")
    return found
