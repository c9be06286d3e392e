"""What is to be done about a copy: nothing, mostly. Pure: memory and what is seen in, memory and decision out.

In turn: does the present mode want it, is somebody else at work on the box, is it coming up by itself, is it down, is
it ill for long enough? And then: may it be acted on at all, and how often was it already?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum, auto

from . import ration
from .memory import Memory, acted, remember
from .seen import Box, Seen
from .settings import Copy
from .symptom import LOOKS, Symptom, limit

UP = ("active", "reloading", "refreshing")
CLEARS = 3  # times in a row that what outlived its unit is ended: one that is still there then waits in the kernel
SLACK = 300.0  # seconds beyond the start time after which systemd should long have ended a start


class Action(StrEnum):
    """What is done."""

    NONE = auto()
    START = auto()
    """reset-failed where needed, then start."""
    RESTART = auto()
    """End every process of it at once; systemd starts it again. One that hangs would take its whole drain to stop."""
    STOP = auto()
    """Stop it, so that it does not go on failing."""
    CLEAR = auto()
    """End processes that outlived their unit."""


@dataclass(frozen=True)
class Decision:
    """`reason` in a word or two, `evidence` in a sentence; `alarm` where a person is needed."""

    action: Action
    reason: str
    evidence: str
    alarm: bool = False


def decide(memory: Memory, seen: Seen, box: Box, copy: Copy, per_hour: int) -> tuple[Memory, Decision]:
    """Given what is remembered of a copy (`Memory()` for a new one), what is seen of it and of its box, its settings
    and how many acts an hour may have, return the new memory and the decision."""
    memory = remember(memory, seen, box.epoch)
    decision = _judge(memory, seen, box, copy)
    if decision.action is not Action.NONE and not per_hour:
        text = f"{decision.action} is called for, and the watchdog may not act: {decision.evidence}"
        return memory, Decision(Action.NONE, decision.reason, text, alarm=True)
    if decision.action in (Action.START, Action.RESTART):
        decision = _allowed(memory, seen, decision, per_hour)
    if decision.action in (Action.START, Action.RESTART):
        memory = acted(memory, seen.at)
    if decision.action is Action.CLEAR:
        memory = replace(memory, clears=memory.clears + 1)
    if decision.action is Action.STOP or decision.reason == "given up":
        memory = replace(memory, given_up=memory.given_up or decision.evidence)
    return memory, decision


def _judge(memory: Memory, seen: Seen, box: Box, copy: Copy) -> Decision:
    unit = seen.unit
    if not seen.wanted:
        return _none("not wanted", "the present mode does not want it, or it is not enabled")
    if box.busy:
        return _none("stands down", box.busy)
    if seen.hold and unit.active not in UP:
        return _none("held", seen.hold, alarm=True)
    if memory.given_up and unit.active not in UP:
        return _none("given up", memory.given_up, alarm=True)
    if unit.active in ("activating", "deactivating"):
        return _on_its_way(seen, copy)
    if unit.active in UP:
        return _running(memory, seen, copy)
    return _down(seen, box, copy)


def _on_its_way(seen: Seen, copy: Copy) -> Decision:
    """It is starting or stopping: systemd bounds both, and starts again what died. What no start mends is ended."""
    unit = seen.unit
    if seen.ending is not None and seen.ending.terminal and unit.restarts > 0:
        text = f"{seen.ending.words}, after {unit.restarts} restarts by systemd: {seen.ending.line}"
        return Decision(Action.STOP, "no start mends it", text, alarm=True)
    lasts = seen.at - unit.since if unit.since is not None else 0.0
    if unit.active == "activating" and unit.sub != "auto-restart":
        late = lasts > copy.start_time + SLACK
        # Before its process there are its gate, where a part of a group may wait for hours, and the wait for memory.
        sub = f"waits ({unit.sub})" if unit.sub == "start-pre" else unit.sub
        text = f"{sub} for {lasts:.0f} s of the {copy.start_time:.0f} s it may take"
        return _none("starting too long" if late else "starting", text, alarm=late)
    if unit.active == "activating":
        return _none("starting", f"systemd starts it again ({unit.restarts} restarts)")
    late = lasts > copy.request_time + SLACK
    return _none("stopping", f"for {lasts:.0f} s", alarm=late)


def _running(memory: Memory, seen: Seen, copy: Copy) -> Decision:
    verdict = seen.verdict
    if not copy.url:
        return _none("runs", "it is a part of a group: the head answers for it, and floor-group watches over it")
    if verdict is None:
        return _none("not asked", "it runs, and could not be asked this time")
    if not memory.symptom or memory.ill is None or memory.same is None:
        return _none(str(verdict.reason), verdict.evidence, alarm=verdict.reason in _LOUD)
    found = Symptom(memory.symptom)
    # Standing still is what all of them have in common; the shorter limits are for the symptom itself.
    since = memory.ill if found is Symptom.STANDS_STILL else memory.same
    lasts, needed = seen.at - since, limit(found, seen, copy)
    words = str(found).replace("_", " ")
    text = f"{words} for {lasts:.0f} s of {needed:.0f} s, {memory.looks} looks: {verdict.evidence}"
    if lasts < needed or memory.looks < LOOKS:
        return _none("watched", text)
    return Decision(Action.RESTART, words, text)


def _down(seen: Seen, box: Box, copy: Copy) -> Decision:
    """It is failed or inactive. What somebody stopped stays stopped; what failed or was left lying is started.

    What an operation stopped is down when its last request has ended; what goes down later somebody else stopped."""
    unit = seen.unit
    later = unit.since is not None and unit.since > box.left + copy.request_time + SLACK
    if unit.active == "failed":
        if seen.ending is not None and seen.ending.terminal:
            return _none("given up", f"{seen.ending.words}: {seen.ending.line}", alarm=True)
        why = f"{unit.name} is failed ({unit.result})"
        return Decision(Action.START, "failed", why + (f", {seen.ending.words}" if seen.ending else ""))
    if unit.result == "exec-condition":
        return Decision(Action.START, "skipped", f"{unit.name} was not started because its condition did not hold then")
    if box.abandoned and not later:
        return Decision(Action.START, "left down", f"{unit.name} is down since {box.abandoned}")
    if seen.conflicts:
        return _none("declined", f"{_named(seen)} conflicts with it, and may have stopped it", alarm=True)
    return _none("stopped", f"{unit.name} is {unit.active}: somebody stopped it, and may start it again", alarm=True)


def _allowed(memory: Memory, seen: Seen, wish: Decision, per_hour: int) -> Decision:
    """What of a wish to start or restart may be done now."""
    if seen.conflicts:
        text = f"its start would stop {_named(seen)}, which Conflicts= with it; {wish.evidence}"
        return Decision(Action.NONE, "declined", text, alarm=True)
    if ration.used_up(memory):
        text = f"{memory.streak} starts in a row did not help: {wish.evidence}"
        return Decision(Action.NONE, "given up", text, alarm=True)
    if (left := ration.wait(memory, per_hour, seen.at)) > 0:
        # The rest of an hour's ration is news, the pause between two tries is not.
        spent = len(memory.acts) >= per_hour
        text = f"acted {len(memory.acts)} times within the hour, again in {left:.0f} s: {wish.evidence}"
        return Decision(Action.NONE, "ration used up" if spent else "backs off", text, alarm=spent)
    if wish.action is Action.START and seen.left and memory.clears >= CLEARS:
        text = f"{', '.join(seen.left)} outlived {seen.unit.name} and cannot be ended: reboot the box; {wish.evidence}"
        return Decision(Action.NONE, "cannot be ended", text, alarm=True)
    if wish.action is Action.START and seen.left:
        text = f"{', '.join(seen.left)} outlived {seen.unit.name} and would share its memory; {wish.evidence}"
        return Decision(Action.CLEAR, "left behind", text)
    if wish.action is Action.START and seen.strangers:
        text = f"{', '.join(seen.strangers)} would share its port or memory; end it by hand; {wish.evidence}"
        return Decision(Action.NONE, "declined", text, alarm=True)
    return wish


def _named(seen: Seen) -> str:
    return ", ".join(f"{name} ({state})" for name, state in sorted(seen.conflicts.items()))


def _none(reason: str, evidence: str, *, alarm: bool = False) -> Decision:
    return Decision(Action.NONE, reason.replace("_", " "), evidence, alarm)


# A running engine of which somebody should know that it does not serve, and that no restart mends.
_LOUD = frozenset({"auth_required", "wrong_model", "not_an_engine", "degraded"})
