"""Values as YAML on one line, such that every reader of YAML takes them for the same."""

from __future__ import annotations

import math
import re
from typing import Any

from floor.config import scalars

# no word that begins or continues like something else in YAML, inside braces or out
_PLAIN = re.compile(r"[A-Za-z0-9/._@+-]([A-Za-z0-9/._@+=%~-]|:(?=[A-Za-z0-9/:]))*", re.ASCII)
_BEGINS = re.compile(r"-|@|\.\.\.", re.ASCII)


def flow(value: Any, like: str | None = None) -> str:
    """Given a plain value and the quote that texts had there before, return it as YAML on one line.

    Raise ValueError for a number that is not finite, and for values that are not plain.
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return _text(value, like)
    raise ValueError(f"not a value that floor.yaml can hold: {type(value).__name__}")


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {value}")
    word = repr(value)
    mantissa, exponent, power = word.partition("e")  # 1e-07 is a text in YAML 1.1, 1.0e-07 a number everywhere
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else word


def _text(value: str, like: str | None) -> str:
    if like == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if like is None and _is_plain(value):
        return value
    return '"' + "".join(_escape(character) for character in value) + '"'


def _is_plain(value: str) -> bool:
    if not _PLAIN.fullmatch(value) or _BEGINS.match(value):
        return False
    try:
        return scalars.read(value) == value
    except scalars.SurpriseError:
        return False


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
