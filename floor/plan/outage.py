"""How long nobody will answer for a model that is switched: from what starts and stops took, else from the config."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from floor.plan.aim import Aim, Copy, Wanted

STOP_GUESS = 30.0  # seconds that an engine is given to stop where nobody saw one do it (floor/desired/times.py)
BETWEEN = 5.0  # seconds that the steps between stop and start take: a look, the mode, memory, the pools


@dataclass(frozen=True)
class Expected:
    """Seconds in all, of the stop and of the start with its warm-up. `basis` says where the start's are from; a `guess`
    rests on no start that was seen."""

    seconds: float
    stop: float
    start: float
    basis: str
    guess: bool

    def words(self, model: str) -> str:
        """What a person is told of it."""
        return (
            f"nobody answers for {model} for about {duration(self.seconds)}: {duration(self.stop)} to stop, "
            f"{duration(self.start)} to start and warm up ({self.basis})"
        )

    def as_json(self) -> dict[str, Any]:
        """As an object: {"seconds", "stop", "start", "basis", "guess"}."""
        return asdict(self)


def expected(aim: Aim, going: Sequence[Copy], coming: Sequence[Wanted]) -> Expected | None:
    """Given the aim, what goes of a model and what comes for it, return how long nobody answers: until the first of
    them is warm. None where nothing comes.

    A request that runs is finished first; how long that takes is not known and not in it.
    """
    if not coming:
        return None
    stop = max((_stop(aim, copy) for copy in going), default=0.0)
    start, basis, guess = min(_start(aim, copy) for copy in coming)
    return Expected(stop + start + BETWEEN, stop, start, basis, guess)


def _stop(aim: Aim, copy: Copy) -> float:
    every = [_noted(aim, box, copy.backend, "stops") for box, _ in copy.places]
    return max((float(stops[-1]["seconds"]) for stops in every if stops), default=STOP_GUESS)


def _start(aim: Aim, copy: Wanted) -> tuple[float, str, bool]:
    starts = _noted(aim, copy.box, copy.backend, "starts")
    same = [one for one in starts if one.get("launch") == copy.state.launch.digest]
    if same or starts:
        last = (same or starts)[-1]
        basis = f"as {copy.backend} took last" + ("" if same else ", with other settings")
        return float(last["seconds"]) + float(last["warm"]), basis, False
    return copy.resolved.start_time, "a guess: start_time of floor.yaml, as no start of it was seen yet", True


def _noted(aim: Aim, box: str, backend: str, kind: str) -> list[Mapping[str, Any]]:
    seen = aim.seen.get(box)
    return list((seen.starts.get(backend) or {}).get(kind) or ()) if seen else []


def duration(seconds: float) -> str:
    """Given seconds, return them as a person says them: `40 s`, `7 min`, `1 h 20 min`."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
