"""Values that nobody can know beforehand, decided by the run's seed, the scenario and the trial."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

Value = str | int
_CONSONANTS, _VOWELS, _LETTERS, _DIGITS = "bdfgklmnprstvz", "aeiou", "ABCDEFGHKLMNPRSTUVWXYZ", "0123456789"


def _pick(of: random.Random, *sets: str) -> str:
    return "".join(of.choice(letters) for letters in sets)


def _word(of: random.Random) -> str:
    return _pick(of, *[_CONSONANTS, _VOWELS] * 3, _CONSONANTS)


# Each kind of value: how one is made, and a pattern that finds it again.
_KINDS: dict[str, tuple[Callable[[random.Random], Value], str]] = {
    "code": (lambda of: f"{_pick(of, _LETTERS, _LETTERS)}-{of.randrange(1000, 10000)}", r"[A-Z]{2}-\d{4}"),
    "word": (_word, r"[a-z]{7}"),
    "name": (lambda of: _word(of).capitalize(), r"[A-Z][a-z]{6}"),
    "id": (lambda of: _pick(of, *[_CONSONANTS] * 3, *[_DIGITS] * 5), r"[a-z]{3}\d{5}"),
    "int": (lambda of: of.randrange(111, 990), r"\d{3}"),
    "day": (lambda of: f"20{of.randrange(31, 39)}-0{of.randrange(1, 10)}-{of.randrange(10, 29)}", r"\d{4}-\d\d-\d\d"),
}
KINDS = frozenset(_KINDS)
PLACE = re.compile(r"\$\{(\w+)\}")


def make(nonces: Mapping[str, str], seed: int, scenario: str, trial: int) -> dict[str, Value]:
    """Given placeholders and their kinds, return a value for each; no two are the same."""
    of = random.Random(sha256(f"{seed} {scenario} {trial}".encode()).digest())  # noqa: S311 - not a secret
    made: dict[str, Value] = {}
    for name, kind in nonces.items():
        value = _KINDS[kind][0](of)
        while value in made.values():
            value = _KINDS[kind][0](of)
        made[name] = value
    return made


def pattern(kind: str) -> str:
    """A regular expression for values of `kind`."""
    return _KINDS[kind][1]


def fill(template: Any, values: Mapping[str, Value]) -> Any:
    """Given JSON with placeholders, return it with values; a text that is just a placeholder takes its type."""
    if isinstance(template, str):
        whole = PLACE.fullmatch(template)
        if whole and whole[1] in values:
            return values[whole[1]]
        return PLACE.sub(lambda found: str(values.get(found[1], found[0])), template)
    if isinstance(template, Mapping):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill(value, values) for value in template]
    return template
