"""Bytes as people read them."""

from __future__ import annotations

GIB = 1 << 30


def gib(size: float | None) -> str:
    """Given bytes, return them in GiB, as memory is told; `unknown` for None."""
    return "unknown" if size is None else f"{size / GIB:.1f} GiB"


def told_size(size: float) -> str:
    """Given bytes, return them in the unit that suits them, as files are told."""
    for unit, step in (("TiB", 2**40), ("GiB", GIB), ("MiB", 2**20)):
        if size >= step:
            return f"{size / step:.1f} {unit}"
    return f"{size / 1024:.0f} KiB" if size >= 1024 else f"{size:.0f} bytes"
