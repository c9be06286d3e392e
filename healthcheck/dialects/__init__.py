"""How each kind of engine is asked, a file each. A new engine is a new file and a line in `_KNOWN`."""

from __future__ import annotations

from floor.errors import FloorError

from .dialect import Dialect
from .llamacpp import LLAMACPP
from .ollama import OLLAMA
from .vllm import VLLM

_KNOWN: dict[str, Dialect] = {dialect.name: dialect for dialect in (VLLM, LLAMACPP, OLLAMA)}


def names() -> tuple[str, ...]:
    """The names of all dialects."""
    return tuple(_KNOWN)


def find(name: str) -> Dialect:
    """Given a dialect's name, return it. Raise FloorError naming the known ones if there is none of that name."""
    try:
        return _KNOWN[name]
    except KeyError:
        raise FloorError(f"unknown dialect {name!r}; known: {', '.join(sorted(_KNOWN))}") from None


__all__ = ["Dialect", "find", "names"]
