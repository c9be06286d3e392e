"""When a part of a group may start its rank, and when it must begin anew. Pure.

A generation is one start of the head. A worker joins it while the head still waits at its gate; the head goes when
every worker has joined and has no process left; a worker goes when the head goes under what it joined. So whoever
restarts alone has joined nothing that runs, and waits; the others see that, end, and come to their gates as well.

What a part knows of the others was asked for after it looked at itself, and a status port never tells older things
later. That is why a difference is a difference, and no difference of times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from floor.box.parts import HEAD, Mark, Phase, Told

AWAY = 5.0  # seconds without a way to a box after which its part counts as gone
MUTE = 30.0  # seconds for one that can be reached and tells nothing: its status port restarts within a few
# Seconds from one start of a rank to the next one of the same part: ten of them, after which systemd gives up, survive
# a cause that heals within a minute. systemd itself does not wait that long, for the others' sake.
APART = 8.0
COMING = 15.0  # seconds for a worker at its gate to follow the head: it asks twice a second


@dataclass(frozen=True)
class Look:
    """What is known of another part: what its box told last (None: nothing), and for how many seconds no try to ask it
    has found a way there, or has been answered; 0 where the newest was."""

    told: Told | None
    away: float = 0.0
    mute: float = 0.0


@dataclass(frozen=True)
class Gate:
    """Whether a part's rank may start now, the generation that it has joined, and in words what it waits for."""

    go: bool
    generation: str | None
    waits: str = ""


def rests(mark: Mark | None, now: float) -> float:
    """Given the mark of the start before and the monotonic clock, return for how many seconds no rank may start yet.

    One that ends at once must not use up its starts within seconds; one that was ended for another's sake may begin.
    """
    if mark is None or not mark.going or mark.spared:
        return 0.0
    return max(0.0, min(mark.at + APART - now, APART))


def gate(own: Told, others: Mapping[str, Told | None]) -> Gate:
    """Given a part at its gate and what the boxes of the others told just now (None: nothing), return what follows."""
    if own.left:
        return Gate(False, None, f"what is left here of an earlier start: {_list(own.left)}")
    if own.part == HEAD:
        return _head(own, others)
    silent = [box for box, told in others.items() if told is None]
    heads = [(box, told) for box, told in others.items() if told is not None and told.part == HEAD]
    if not heads:
        return Gate(False, own.generation, f"the head's box does not answer (of {', '.join(others)})")
    box, head = heads[0]
    if head.phase in (Phase.GOING, Phase.RUNNING):
        if own.generation is not None and head.generation == own.generation:
            return Gate(True, own.generation)
        return Gate(False, None, f"{box}: the head runs under a start that this part has not joined")
    if head.phase is not Phase.WAITING:
        return Gate(False, own.generation, f"{box}: the head is {head.phase}")
    if silent:
        # The head may see what this part does not; it would be ended again as soon as it ran.
        return Gate(False, None, f"{', '.join(silent)}: does not answer")
    return Gate(False, head.start, f"{box}: the head is at its gate, and goes when all have joined")


def _head(own: Told, others: Mapping[str, Told | None]) -> Gate:
    waits = [words for box, told in others.items() if (words := _not_ready(box, told, own.start))]
    return Gate(not waits, own.start, "; ".join(waits))


def _not_ready(box: str, told: Told | None, start: str) -> str:
    if told is None:
        return f"{box}: does not answer"
    if told.phase is not Phase.WAITING:
        return f"{box}: its part is {told.phase}"
    if told.left:
        return f"{box}: has left of an earlier start: {_list(told.left)}"
    return "" if told.generation == start else f"{box}: its part has not joined yet"


def ends(own: Told, went: float, others: Mapping[str, Look]) -> str:
    """Given a part, for how many seconds its rank has been on its way, and what is known of the others, return why it
    must begin anew; empty where it need not.

    Only a rank is ended: one that waits, or is being stopped anyway, is left alone.
    """
    if own.phase not in (Phase.GOING, Phase.RUNNING):
        return ""
    if own.generation is None:
        return "nobody knows which generation it is of: its mark is gone"
    for box, look in others.items():
        if why := _gone(own, went, look):
            return f"{box}: {why}"
    return ""


def told_alone(others: Mapping[str, Look]) -> dict[str, Look]:
    """Given what is known of the others of a group that a deployment takes away, return what they tell: no silence of
    them counts, since who can be asked changes first."""
    return {box: Look(None if look.away or look.mute else look.told) for box, look in others.items()}


def _gone(own: Told, went: float, look: Look) -> str:
    if look.away >= AWAY:
        return f"there has been no way to it for {look.away:.0f} s"
    if look.mute >= MUTE:
        return f"it can be reached, and has told nothing for {look.mute:.0f} s"
    told = look.told
    if told is None or look.away or look.mute:
        return ""  # what was told before a silence may be over
    if told.phase is Phase.DOWN:
        return f"its {told.part} is gone"
    if told.generation == own.generation:
        if told.phase is not Phase.WAITING or told.part == HEAD:
            return ""
        return "" if went < COMING else f"its {told.part} has not followed for {went:.0f} s"
    if told.phase is Phase.WAITING:
        return f"its {told.part} is back at its gate"
    return f"its {told.part} runs under another start of the head"


def _list(left: tuple[int | str, ...]) -> str:
    return ", ".join(f"process {one}" if isinstance(one, int) else str(one) for one in left)
