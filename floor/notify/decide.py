"""Who is told what, and when. Pure: what is the case now, and what was told before, in; messages and memory out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

HOUR = 3600.0


@dataclass(frozen=True)
class Matter:
    """Something that needs a person. `key` is the same as long as it is the same matter, whatever its words.

    `after` is the seconds that it must last before anybody is told: some matters end by themselves.
    """

    key: str
    text: str
    after: float = 0.0


@dataclass(frozen=True)
class Open:
    """A matter that was seen: its last words, since when, when it was last told (None: not yet), when last seen."""

    text: str
    since: float
    seen: float
    told: float | None = None


@dataclass(frozen=True)
class Told:
    """What is open, the times of the messages within the last hour, and until when nobody is told because a message
    could not be sent. Unix seconds."""

    open: Mapping[str, Open]
    sent: tuple[float, ...] = ()
    rests: float = 0.0


@dataclass(frozen=True)
class Message:
    """One message: `state` is `new`, `again` or `over`."""

    key: str
    state: str
    text: str


NOTHING = Told({})
PAUSE = 300.0  # seconds after a message that could not be sent until the next try
LINGERS = 300.0  # seconds for which a matter must be gone before it is over: one that comes and goes is one matter


def decide(told: Told, matters: Sequence[Matter], now: float, every: float, most: int) -> tuple[Told, list[Message]]:
    """Given what was told, what is the case, unix seconds, the seconds after which a lasting matter is told again, and
    how many messages an hour may have, return the new memory and the messages to send, the oldest matter first.

    Beyond the hour's number nothing is lost: what is not told stays open, and is told when there is room.
    """
    sent = tuple(at for at in told.sent if 0 <= now - at < HOUR)
    rests = told.rests if 0 < told.rests - now <= PAUSE else 0.0  # not by a clock that was set back
    most = 0 if rests else most
    found = {matter.key: matter for matter in matters}
    opened = {key: _seen(told.open.get(key), matter, now) for key, matter in found.items()}
    gone = {key: one for key, one in told.open.items() if key not in found}
    messages: list[Message] = []
    for key, one in sorted(opened.items(), key=lambda entry: entry[1].since):
        state = _due(one, found[key], now, every)
        if state and len(sent) < most:
            messages.append(Message(key, state, one.text))
            sent = (*sent, now)
            opened[key] = replace(one, told=now)
    for key, one in gone.items():
        if now - one.seen < LINGERS:
            opened[key] = one
        elif one.told is not None and len(sent) < most:
            messages.append(Message(key, "over", one.text))
            sent = (*sent, now)
        elif one.told is not None:
            opened[key] = one
    return Told(opened, sent, rests), messages


def unsent(before: Told, after: Told, messages: Sequence[Message], rests: float = 0.0) -> Told:
    """Given the memory before and after a decision, the last of its messages, which were not sent, and until when
    nobody is to be told (unix seconds), return the memory in which they are still to be told."""
    opened = dict(after.open)
    for message in messages:
        was = before.open.get(message.key)
        if message.key in opened:
            opened[message.key] = replace(opened[message.key], told=None if was is None else was.told)
        elif was is not None:
            opened[message.key] = was
    return Told(opened, after.sent[: len(after.sent) - len(messages)], rests)


def _seen(before: Open | None, matter: Matter, now: float) -> Open:
    if before is None or before.since > now:  # a clock that was set back
        return Open(matter.text, now, now)
    return replace(before, text=matter.text, seen=now)


def _due(one: Open, matter: Matter, now: float, every: float) -> str:
    if one.told is None:
        return "new" if now - one.since >= matter.after else ""
    return "again" if now - one.told >= every else ""


def as_json(told: Told) -> dict[str, Any]:
    """Return the memory as what `json.dumps` takes."""
    return asdict(told)


def from_json(found: Mapping[str, Any]) -> Told:
    """Given what `as_json` returned, return the memory. Raise TypeError, KeyError or ValueError for something else."""
    opened = {str(key): Open(**one) for key, one in found["open"].items()}
    return Told(opened, tuple(float(at) for at in found["sent"]), float(found.get("rests", 0.0)))
