"""The kinds of value that floor.yaml holds, each with the words an error uses for what to write.

A validator raises ValueError with the text that follows "write"; `Write` gives that text to a plain pydantic type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from floor.config import hosts

NAME = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
NAME_LENGTH = 40  # floor-copy-NAME.service and the nginx upstream's name stay readable and within systemd's 255
DURATION = r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)$"
SIZE = r"^[0-9]+(\.[0-9]+)?(KiB|MiB|GiB|TiB)$"
SMALLEST_BARE_SIZE = 2**20
LONGEST = 7 * 24 * 3600.0

_A_DURATION = "a duration such as 500ms, 90s, 30m or 2h, or a number of seconds"
_A_SIZE = "a size with its unit (KiB, MiB, GiB or TiB), such as 9.5GiB"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


class Part(BaseModel):
    """A part of the configuration: frozen, no unknown keys, no text where a number is meant."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True)
class Says:
    """Says what to write, where a document or an error about a missing value needs it."""

    text: str


@dataclass(frozen=True)
class Write(Says):
    """Replaces pydantic's own error by that text; not for what holds values, whose errors it would hide."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(
            handler(source), custom_error_type="write", custom_error_message=self.text
        )


def seconds(value: object) -> object:
    """Given `30m`, `90s`, `500ms`, `2h` or a number of seconds, return seconds. Raise ValueError otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    elif isinstance(value, str) and re.match(DURATION, value, re.ASCII) and len(value) <= 20:
        number, unit = re.split(r"(?=[a-z])", value, maxsplit=1)
        found = float(number) * _SECONDS[unit]
    else:
        raise ValueError(_A_DURATION)
    if not 0 < found <= LONGEST:
        raise ValueError("a duration above 0 and at most 168h")
    return found


def size(value: object) -> object:
    """Given `9.5GiB` (KiB to TiB), return bytes; a bare number counts as bytes, where it can be meant so.

    Raise ValueError otherwise: `8` is a forgotten unit, and GB would leave it open whether 1000 or 1024 is meant.
    """
    if isinstance(value, int) and not isinstance(value, bool) and (value == 0 or SMALLEST_BARE_SIZE <= value < 2**60):
        return value
    if isinstance(value, str) and re.match(SIZE, value, re.ASCII) and len(value) <= 20:
        number, unit = re.split(r"(?=[KMGT])", value, maxsplit=1)
        if float(number) * _BYTES[unit] < 2**60:
            return int(float(number) * _BYTES[unit])
    raise ValueError(_A_SIZE)


def folder(value: str) -> str:
    """Given an absolute path, return it. Raise ValueError otherwise, also for the name of a model on a hub."""
    if value.startswith("~"):
        raise ValueError("an absolute path: `~` is another folder for each user")
    if re.match(r"^[\w.-]+/[\w.-]+$", value) and not value.startswith("."):
        raise ValueError(
            "the folder that holds the weights, such as /models/flagship: nothing is fetched while serving"
        )
    if not value.startswith("/"):
        raise ValueError("an absolute path, such as /models/flagship")
    if re.search(r"[:\x00-\x1f\x7f]|(^|/)\.\.?(/|$)|//", value):
        raise ValueError("an absolute path without `:`, `//`, `.`, `..` or control characters")
    return value


def readable(value: str) -> str:
    """Given the absolute path of a file that nginx reads, return it. Raise ValueError with what to write otherwise."""
    if not re.match(r"/[A-Za-z0-9_./@+=-]+$", value, re.ASCII) or re.search(r"/\.\.?(/|$)|//|/$", value):
        raise ValueError("the absolute path of a file on the proxy boxes, such as /etc/ssl/floor/chat.pem")
    if re.match(r"/(home|root|tmp|var/tmp|run/user)/", value):
        raise ValueError("a place that nginx may read, such as /etc/ssl/floor: not below /home, /root or /tmp")
    return value


def one_or_more(value: object) -> object:
    """Given a word or a list of words, return a list."""
    return [value] if isinstance(value, str) else value


def _schema(pattern: str, *, number: str, **limits: float) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "string", "pattern": pattern}, {"type": number, **limits}]})


Duration = Annotated[
    float,
    Write(_A_DURATION),
    BeforeValidator(seconds),
    _schema(DURATION, number="number", exclusiveMinimum=0, maximum=LONGEST),
]
Size = Annotated[int, Write(_A_SIZE), BeforeValidator(size), _schema(SIZE, number="integer", minimum=0)]
Folder = Annotated[
    str,
    Write("an absolute path, such as /models/flagship"),
    AfterValidator(folder),
    WithJsonSchema({"type": "string", "pattern": "^/"}),
]
Readable = Annotated[
    str,
    Write("the absolute path of a file on the proxy boxes, such as /etc/ssl/floor/chat.pem"),
    AfterValidator(readable),
    WithJsonSchema({"type": "string", "pattern": "^/"}),
]
Host = Annotated[
    str, Write(hosts.MEANT), AfterValidator(hosts.host), WithJsonSchema({"type": "string", "pattern": hosts.PATTERN})
]
Address = Annotated[
    str,
    Write("an IP address, such as 192.0.2.10"),
    AfterValidator(hosts.address),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9A-Fa-f.:]+$"}),
]
Network = Annotated[
    str,
    Write("an address or a network, such as 192.0.2.50 or 198.51.100.0/24"),
    AfterValidator(hosts.network),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$"}),
]
Url = Annotated[
    str,
    Write("a plain http:// address, such as http://192.0.2.20:8000"),
    AfterValidator(hosts.url),
    WithJsonSchema({"type": "string", "pattern": "^http://"}),
]
Name = Annotated[
    str,
    Field(pattern=NAME, max_length=NAME_LENGTH),
    Write(f"a name of at most {NAME_LENGTH} lower-case letters, digits, `-` and `.`, such as spark-a or flagship"),
]
Text = Annotated[str, Field(min_length=1, max_length=4096), Write("a text of 1 to 4096 characters")]
Flag = Annotated[bool, Write("true or false")]
Port = Annotated[int, Field(ge=1, le=65535), Write("a port, a whole number from 1 to 65535")]
Count = Annotated[int, Field(ge=1, le=100_000_000), Write("a whole number of at least 1")]
Share = Annotated[
    float,
    Field(gt=0, le=1),
    Write("a share of the memory, above 0 and at most 1, such as 0.85 (bytes go to cache_memory)"),
]
