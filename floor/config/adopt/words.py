"""A command line taken apart into flags and values, without knowing the engine's parser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_FACTOR = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}


def flags(words: Sequence[str], short: Mapping[str, str]) -> tuple[dict[str, list[str]], list[str]]:
    """Given words behind `serve` and the long names of short flags, return each flag's values, and the words before the
    first flag.

    A flag's name comes without dashes, `-` for `_`. A flag that was given twice counts as the last time.
    """
    found: dict[str, list[str]] = {}
    loose: list[str] = []
    into = loose
    for word in words:
        if not re.match(r"--?[A-Za-z]", word):
            into.append(word)
            continue
        flag, equals, value = word.partition("=")
        name = flag.lstrip("-").replace("_", "-") if flag.startswith("--") else short.get(flag[1:], flag[1:])
        into = found[name] = [value] if equals else []
    return found, loose


def value(given: Sequence[str]) -> Any:
    """Given a flag's values, return what floor.yaml says for them: true, a scalar, a mapping, or a list."""
    if not given:
        return True
    return scalar(given[0]) if len(given) == 1 else list(given)


def scalar(word: str) -> Any:
    """Given one word, return it as the number or the mapping that is written as just this word again, else as text."""
    if re.fullmatch(r"-?(0|[1-9][0-9]{0,15})", word):
        return int(word)
    try:
        if re.fullmatch(r"-?[0-9]+\.[0-9]+", word):
            return float(word)
        loaded = json.loads(word) if word.startswith("{") else word
    except ValueError:
        return word
    return loaded if isinstance(loaded, dict) and loaded else word


def number(word: str) -> int | None:
    """Given vLLM's spelling of a number (32768, 32k, 32K), return it, None for any other word.

    vllm/utils: a small letter counts in thousands, a capital in 1024s.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kKmMgG]?)", word)
    return int(float(match[1]) * _FACTOR[match[2]]) if match else None
