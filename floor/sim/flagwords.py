"""Flags as they were split from a command line: by name, each with its values."""

from __future__ import annotations

from floor.errors import UsageError

Flags = dict[str, list[str]]


def last(flags: Flags, name: str) -> str | None:
    """The value that counts when a flag is given twice: the last; None when it is not given.

    Raises UsageError when nothing follows it.
    """
    values = flags.get(name)
    if values == []:
        raise UsageError(f"--{name}: nothing follows it; write --{name} VALUE")
    return values[-1] if values else None


def whole(flags: Flags, name: str, default: int, least: int = 1) -> int:
    """The whole number that a flag gives, or `default`. Raises UsageError for what is none, or less than `least`."""
    text = last(flags, name)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < least:
        raise UsageError(f"--{name}: found {text!r}; write a whole number, {least} or more")
    return int(text)
