"""One backend as it would be: a copy on a box or a group over several, with its memory, its cache and its speed."""

from __future__ import annotations

from dataclasses import dataclass

from floor.layout.memory import Use
from floor.layout.speed import Stage

TENSOR, PIPELINE = "tensor", "pipeline"
WHOLE, LEAST, WANTED = "whole", "least", "wanted"  # cache: all that is left, what is needed, what a full cap can use


@dataclass(frozen=True)
class Backend:
    """What answers at one URL.

    `blocks`: of the cache; `tokens`: what its engine will log; `holds`: what can be planned with. `at_once`: requests
    of the longest kind that fit; `longest`: the longest that fits alone. `one`: tokens a second of one stream, `all`:
    of `requests` at once; `reads`: seconds for a prompt; `starts`: until it is warm. `cache_origin`: computed, or
    unverified where no start log checks the rule. `uneven`: how much longer the slowest
    stretch takes than the mean of them. `timed`, `started`, `read_timed`: speeds, the start, the prompt are measured.
    """

    name: str
    boxes: tuple[str, ...]
    how: str
    tp: int
    stages: tuple[Stage, ...]
    uses: tuple[Use, ...]
    blocks: int
    tokens: int
    holds: int
    at_once: float
    longest: int
    one: float
    all: float
    requests: int
    reads: float
    starts: float
    cache_origin: str
    uneven: float
    timed: bool = False
    started: bool = False
    read_timed: bool = False

    @property
    def layers(self) -> tuple[int, ...]:
        """Layers of each stage, the first first."""
        return tuple(stage.end - stage.start for stage in self.stages)

    @property
    def group(self) -> bool:
        """Whether it stands on several boxes."""
        return len(self.boxes) > 1


@dataclass(frozen=True)
class Misfit:
    """Why there is no such backend; `short`: bytes that are missing on one card, 0 where it is not for memory."""

    why: str
    short: float = 0.0
