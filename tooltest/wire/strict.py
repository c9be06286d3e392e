"""JSON as a strict client reads it, and Python's own reader does not: no NaN, no half characters, no end of nesting."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

DEEPEST = 100  # of objects and lists in each other; a model that loops writes `[[[[…`. serde_json's own limit is 128
_HALF = re.compile("[\ud800-\udfff]")


def loads(text: str | bytes) -> Any:
    """Given JSON, return what it says. Raise ValueError, in words, for what a client of another language would refuse:
    bytes that are no UTF-8, NaN and Infinity, half of a surrogate pair, nesting without an end."""
    text = text.decode() if isinstance(text, bytes) else text
    try:
        found = json.loads(text, parse_constant=_constant)
    except RecursionError:
        raise ValueError("it is nested without an end") from None
    if text.count("[") + text.count("{") > DEEPEST and _deeper(found):
        raise ValueError(f"it is nested more than {DEEPEST} deep")
    if "\\u" in text and _HALF.search(json.dumps(found, ensure_ascii=False)):
        raise ValueError("it holds half of a character (a surrogate alone)")
    return found


def why(error: ValueError) -> str:
    """What `loads` says, in brackets behind other words; nothing of a text that simply is no JSON."""
    return "" if isinstance(error, json.JSONDecodeError) else f" ({error})"


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _deeper(found: Any) -> bool:
    level = [found]
    for _ in range(DEEPEST):
        parts = [one for one in level if isinstance(one, Mapping | list)]
        level = [inner for one in parts for inner in (one.values() if isinstance(one, Mapping) else one)]
    return any(isinstance(one, Mapping | list) for one in level)
