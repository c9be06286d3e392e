"""What one look at a backend, or one generation asked of it, brought back. Data alone: judging is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, auto

from .load import Load
from .target import Target


class Fault(StrEnum):
    """How a request ended without a whole HTTP answer."""

    REFUSED = auto()
    DROPPED = auto()
    """Accepted, then closed before the answer was whole."""
    UNREACHABLE = auto()
    TIMED_OUT = auto()
    """Connected, and no whole answer within the time."""
    NOT_HTTP = auto()


@dataclass(frozen=True)
class Answer:
    """How one request ended.

    `status` (None: no answer began), `fault` (None: a whole answer), `detail` what was seen, in words, `seconds` taken.
    """

    asked: str
    status: int | None
    fault: Fault | None
    detail: str
    seconds: float

    @property
    def whole(self) -> bool:
        """An HTTP answer came, whatever it says."""
        return self.fault is None and self.status is not None

    @property
    def ok(self) -> bool:
        """A whole answer that says 200."""
        return self.fault is None and self.status == 200

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        if self.fault is None:
            return f"{self.asked} answered {self.status}{detail}"
        return f"{self.asked}{detail}"


@dataclass(frozen=True)
class Sample:
    """One look: `/health`, the model list and the metrics page, asked at once.

    `served` are the listed model names (None: no list came), `loading` is the engine's own word that it still loads,
    `load` None means no usable metrics page. `began` and `at` are the clock before and after.
    """

    began: float
    at: float
    health: Answer
    models: Answer
    metrics: Answer
    served: tuple[str, ...] | None = None
    loading: bool = False
    load: Load | None = None

    @property
    def in_flight(self) -> float | None:
        """Requests in the engine; None if it does not say."""
        return None if self.load is None else self.load.in_flight


@dataclass(frozen=True)
class Generation:
    """One generation asked of a backend: `tokens` by the engine's own count (None: it gave none).

    Where it embeds, `tokens` are vectors or scores.

    `speed` is tokens/s where a minimum speed is asked for; `speed_below` is the bound that is shown when the time ran
    out first.
    """

    target: Target
    began: float
    at: float
    answer: Answer
    tokens: int | None
    speed: float | None = None
    speed_below: float | None = None

    @property
    def proven(self) -> bool:
        """At least one token came."""
        return self.tokens is not None and self.tokens > 0
