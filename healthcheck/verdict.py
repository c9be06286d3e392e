"""What a check found about one backend, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto


class Level(IntEnum):
    """How far up a backend has been shown to work in this life of its process."""

    DOWN = 0
    """No engine answers there."""
    ALIVE = 1
    """Something accepts connections or answers, but it may not have requests."""
    READY = 2
    """It says that it is healthy and lists the model."""
    GENERATES = 3
    """Tokens came out of it, and nothing since says otherwise."""


class Reason(StrEnum):
    """Why the level is what it is. Each one asks for something else to be done."""

    OK = auto()
    REFUSED = auto()
    """Nobody listens: connection refused, or dropped without an answer."""
    UNREACHABLE = auto()
    """No way there: no route, no such name, or nothing answered the connect."""
    TIMED_OUT = auto()
    """The connection was accepted and no answer came in time: busy, or on its way to HUNG."""
    AUTH_REQUIRED = auto()
    SERVER_ERROR = auto()
    LOADING = auto()
    HUNG = auto()
    """Work is there and nothing has moved for longer than the stall limit."""
    WRONG_MODEL = auto()
    SLOW = auto()
    DEGRADED = auto()
    """It generates below the minimum speed: the GPU is most likely not in use."""
    NOT_AN_ENGINE = auto()
    PREFILLING = auto()
    """Busy, and no token seen lately, within the stall limit. This is not down."""
    UNPROVEN = auto()
    """Ready and idle, but not seen to generate in this life of its process."""
    COLD = auto()
    """Ready, and the model is on its disk but not in its memory: whoever asks first waits for the load."""


# A restart helps against these alone. 401, a wrong model, loading and slow are repaired elsewhere; an unreachable box
# and a foreign program on the port cannot be helped by the engine's unit; a time-out becomes HUNG when it lasts.
_RESTARTABLE = frozenset({Reason.REFUSED, Reason.SERVER_ERROR, Reason.HUNG})


@dataclass(frozen=True)
class Verdict:
    """What is known about one backend at one moment.

    `latency` is the seconds until `/health` answered (None: it did not), `running` and `waiting` are the engine's own
    counts of requests (None: it does not say; never 0 for that), `at` is the caller's monotonic clock.
    """

    backend: str
    url: str
    level: Level
    reason: Reason
    evidence: str
    latency: float | None
    running: int | None
    waiting: int | None
    at: float

    @property
    def healthy(self) -> bool:
        """It generates and nothing is wrong."""
        return self.level is Level.GENERATES and self.reason is Reason.OK

    @property
    def restartable(self) -> bool:
        """Whether this may ever be a reason to restart the engine. One that still generates is left alone."""
        return self.reason in _RESTARTABLE and self.level is not Level.GENERATES
