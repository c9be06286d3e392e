"""How each kind of engine is asked, a file each. A new engine is a new file and a line in `_KNOWN`."""

from __future__ import annotations

from floor.errors import FloorError

from .dialect import Dialect
from .llamacpp import LLAMACPP
from .vllm import VLLM

_KNOWN: dict[str, Dialect] = {VLLM.name: VLLM, LLAMACPP.name: LLAMACPP}


def find(name: str) -> Dialect:
    """Given a dialect's name, return it. Raise FloorError naming the known ones if there is none of that name."""
    try:
        return _KNOWN[name]
    except KeyError:
        raise FloorError(f"unknown dialect {name!r}; known: {', '.join(sorted(_KNOWN))}") from None


__all__ = ["Dialect", "find"]
