"""What has to be known of a kind of engine to ask it: where, with what, and how to read the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..load import Load


@dataclass(frozen=True)
class Dialect:
    """One kind of engine. The functions are given the bytes of an answer and never raise: None means unreadable."""

    name: str
    health: str
    models: str
    metrics: str
    generations: Callable[[str, int], tuple[tuple[str, Mapping[str, Any]], ...]]
    """Given the served model name and a number of tokens, the (path, JSON body) to try in turn, the next one when the
    engine refuses a body with 400."""
    served: Callable[[bytes], tuple[str, ...] | None]
    """The names in a model list."""
    load: Callable[[bytes], Load | None]
    """The counts on a metrics page, or on what the engine has in its place."""
    tokens: Callable[[bytes], int | None]
    """The engine's own count of the tokens that an answer generated."""
    loading: Callable[[int, bytes], bool]
    """Given status and body of `health` or `models`, whether the engine itself says that it still loads."""
