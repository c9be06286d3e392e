"""Server-sent events from bytes, by the rules of the HTML standard (html.spec.whatwg.org, 9.2.6), nothing repaired."""

from __future__ import annotations

from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Event:
    """One event: its `data`, its `name` ("message" unless the stream says so), and where it ends in the bytes."""

    data: bytes
    name: str
    end: int


@dataclass(frozen=True)
class Events:
    """All events that were dispatched; `tail` is what came after the last blank line, which a client never sees."""

    events: tuple[Event, ...]
    tail: bytes


def read(body: bytes) -> Events:
    """Given the body of a stream, return its events. Lines may end in LF, CRLF or CR; comments are passed over."""
    events: list[Event] = []
    data: list[bytes] = []
    name, done = "", 0
    at = len(BOM) if body.startswith(BOM) else 0
    while (line := _line(body, at)) is not None:
        text, at = line
        if not text:
            if data:
                events.append(Event(b"\n".join(data), name or "message", at))
            data, name, done = [], "", at
            continue
        field, _, value = text.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
    return Events(tuple(events), body[done:].strip())


def _line(body: bytes, at: int) -> tuple[bytes, int] | None:
    """The line that begins at `at`, and where the next one does; None where no whole line is left."""
    feed, carriage = body.find(b"\n", at), body.find(b"\r", at)
    if carriage >= 0 and (feed < 0 or carriage < feed):
        after = carriage + (2 if body[carriage + 1 : carriage + 2] == b"\n" else 1)
        return body[at:carriage], after
    return None if feed < 0 else (body[at:feed], feed + 1)
