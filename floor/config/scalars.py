"""What a word without quotes means in YAML, where all readers agree, and what to write where they do not.

YAML 1.1 (PyYAML) and 1.2 (ruamel.yaml, editors) read `no`, `22:30`, `010` and others differently
(canonical/cloud-init#6127: `no` became False). Such words are errors whatever they stand for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})", re.ASCII)
# YAML 1.1 knows a number that begins with a point, but none with a sign before the point.
_FLOAT = re.compile(r"([-+]?[0-9]{1,300}\.[0-9]{0,300}|\.[0-9]{1,300})([eE][-+][0-9]{1,3})?", re.ASCII)
_CONSTANTS = {
    **dict.fromkeys(("null", "Null", "NULL", "~"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LONGEST_REPEATED = 60
_YES = ("y", "yes", "on")
_NO = ("n", "no", "off")


class SurpriseError(ValueError):
    """A word that readers of YAML take for different values; its text says what to write."""


def read(word: str) -> str | int | float | bool | None:
    """Given a word without quotes, return what all YAML readers take it for. Raise SurpriseError where they differ."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _INT.fullmatch(word):
        return int(word)
    if _FLOAT.fullmatch(word) and math.isfinite(float(word)):
        return float(word)
    if word.lower() in _YES + _NO and word in (word.lower(), word.upper(), word.capitalize()):
        raise SurpriseError(f'{"true" if word.lower() in _YES else "false"}, or "{word}" in quotes for the text')
    for pattern, meant in _SURPRISES:
        if pattern.fullmatch(word):
            number = meant(word)
            quoted = f'"{word}" in quotes' if len(word) <= _LONGEST_REPEATED else "quotes around it"
            raise SurpriseError(f"{number}, or {quoted} for the text" if number else quoted)
    return word


def _decimal(base: int) -> Callable[[str], str]:
    def convert(word: str) -> str:
        digits = re.sub(r"[_+]|0[xobXOB]", "", word)
        return str(int(digits, base)) if len(digits) <= 16 else ""

    return convert


def _plain(word: str) -> str:
    number = word.replace("_", "").lstrip("+")
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    return sign + (digits.lstrip("0") or "0") if len(digits) <= 16 else "a smaller number"


def _exponent(word: str) -> str:
    number = float(word.replace("_", "")) if len(word) <= 32 else math.inf
    if not math.isfinite(number):
        return "a smaller number"
    whole = "." not in word and abs(number) < 2**53 and number == int(number)
    return str(int(number)) if whole else repr(number) if "e" not in repr(number) else ""


def _finite(_: str) -> str:
    return "a finite number"


def _quoted(_: str) -> str:
    return ""


_SURPRISES: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = tuple(
    (re.compile(pattern, re.ASCII), meant)
    for pattern, meant in (
        (r"[-+]?0[xX][0-9a-fA-F_]*[0-9a-fA-F][0-9a-fA-F_]*", _decimal(16)),
        (r"[-+]?0[bB][01_]*[01][01_]*", _decimal(2)),
        (r"[-+]?0[oO][0-7]+", _decimal(8)),
        (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", _quoted),
        (r"[-+]?[0-9][0-9_]*", _plain),
        (r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9][0-9_]*)([eE][-+]?[0-9]+)?", _exponent),
        (r"[-+]?\._[0-9_]*([eE][-+]?[0-9]+)?", _quoted),
        (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", _finite),
        (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", _quoted),
        (r"=|<<", _quoted),
    )
)
