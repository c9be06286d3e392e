"""A trial as the log, the baseline and the gate know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

STREAMED, WHOLE = "streamed", "whole"
UNANSWERED = "unanswered"  # timed out, refused or broken off: listed apart from what the model did


def mode(trial: int, place: int = 0) -> str:
    """Trials of a scenario alternate between the two; so do the first trials of scenarios, by their place."""
    return STREAMED if (trial + place) % 2 == 0 else WHOLE


@dataclass(frozen=True)
class Record:
    """One trial. `score` is 1, 0.5 or 0, `reason` the first thing that was wrong.

    `checks`: check to what was wrong, "" where it held. `first_calls`: whether the first answer called anything.
    `error`: "" or why there was no whole answer ("HTTP 500", "timed out", …). `exchanges`: raw, of failures only.
    Times are seconds: of the whole trial, to the first token, to the first byte of a call (of streamed ones).
    """

    scenario: str
    kind: str
    trial: int
    mode: str
    score: float
    reason: str = ""
    checks: Mapping[str, str] = field(default_factory=dict)
    first_calls: bool | None = None
    error: str = ""
    seconds: float = 0.0
    first_token: float | None = None
    first_tool_byte: float | None = None
    tokens: int = 0
    exchanges: tuple[Mapping[str, Any], ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Record:
        """From JSON. Raises KeyError or TypeError where it is none."""
        known = {name: document[name] for name in cls.__dataclass_fields__ if name in document}
        return cls(**{**known, "exchanges": tuple(known.get("exchanges", ()))})
