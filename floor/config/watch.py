"""`guard`, `watchdog` and `notify`: what looks after the boxes, and who is told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from floor.config.values import Count, Duration, Part, Size, Text, Write, one_or_more


class Guard(Part):
    """The memory guard of each box with a copy."""

    mode: Annotated[Literal["protect", "observe", "none"], Write("protect, observe or none")] = "protect"
    """protect takes an engine down before its box freezes, and refuses a start that cannot fit. observe only says what
    it would do, none is no guard."""
    floor: Size | None = None
    """Memory available at which it takes an engine down: below what the box rests at. Default: 3GiB, on a small box a
    fortieth."""


class Watchdog(Part):
    """What starts a copy again that hangs or stays down."""

    restarts: Annotated[int, Field(ge=0, le=60), Write("a whole number from 0 to 60")] = 3
    """How often an hour it may start one copy. With 0 it looks and tells, and never acts."""


class Notify(Part):
    """Who is told of what needs a person: a lost copy, an act of the guard, a watchdog that gave up."""

    command: Annotated[
        list[Text],
        BeforeValidator(one_or_more),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
    ] = Field(default_factory=list)
    """A program of the boxes with its whole path, and its words. The message comes on its stdin, as JSON."""
    webhook: Annotated[
        str | None,
        Field(pattern=r"^(https?://[^\s/]+[^\s]*|/[^\s]+)$", max_length=2048),
        Write("an address such as https://chat.example/hook, or the path of a file on the boxes that holds one"),
    ] = None
    """An address that the message is posted to, as JSON. One that is a secret stands in a file on the boxes: write its
    path. Default: none."""
    every: Duration = 3600.0
    """Time after which something that lasts is told again."""
    most: Count = 12
    """Messages an hour, at most. What is beyond them is told later."""
