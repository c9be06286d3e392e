"""Parameters of a call, read with their types: what a caller got wrong is named before anything happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floor.errors import UsageError

LARGEST = 1 << 53  # what JSON carries exactly everywhere
LONGEST_WAIT = 25.0  # seconds a call may keep its answer back: below the lease and any ssh timeout


class Params:
    """The parameters of one call. Every reader raises UsageError naming the call, the parameter and what it must be."""

    def __init__(self, call: str, values: Mapping[str, Any]) -> None:
        self.call, self.values = call, values

    def _fail(self, name: str, wanted: str) -> UsageError:
        found = f"found {self.values[name]!r:.80}" if name in self.values else "it is missing"
        return UsageError(f"{self.call}: parameter {name}: must be {wanted}, {found}")

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str) or not value or "\0" in value:
            raise self._fail(name, "a text")
        return value

    def raw(self, name: str) -> str:
        """A text that may be empty, or hold anything."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self._fail(name, "a text")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self._fail(name, "a list of texts")
        return value

    def words(self, name: str) -> list[str]:
        """A command line: a program, and words that may be empty."""
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(one, str) and "\0" not in one for one in value):
            raise self._fail(name, "a list of texts")
        if not value or not value[0]:
            raise self._fail(name, "a command line")
        return value

    def whole(self, name: str, least: int = 0) -> int:
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
            raise self._fail(name, f"a whole number of at least {least}")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
            raise self._fail(name, "a number of at least 0")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise self._fail(name, "true or false")
        return value

    def ports(self, name: str) -> list[int]:
        value = self.values.get(name)
        good = isinstance(value, list) and all(type(one) is int and 0 < one < 65536 for one in value)
        if not good:
            raise self._fail(name, "a list of ports")
        return list(value or [])

    def maybe_whole(self, name: str) -> int | None:
        return None if self.values.get(name) is None else self.whole(name)

    def maybe_text(self, name: str) -> str | None:
        return None if self.values.get(name) is None else self.text(name)

    def mapping(self, name: str) -> dict[str, Any]:
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self._fail(name, "an object")
        return value

    def files(self, name: str) -> list[dict[str, Any]]:
        """Files as {"path", "text", "mode": int, "owner": "user:group"}; mode and owner may be left out."""
        value = self.values.get(name)
        good = isinstance(value, list) and all(
            isinstance(one, dict)
            and isinstance(one.get("path"), str)
            and isinstance(one.get("text"), str)
            and isinstance(one.get("mode", 0), int)
            and 0 <= one.get("mode", 0) <= 0o777
            and isinstance(one.get("owner", ""), str)
            for one in value
        )
        if not good:
            raise self._fail(name, "a list of {path, text, mode, owner}")
        return list(value or [])

    def timeout(self) -> float:
        """How long this call may wait, in seconds; more than 25 is cut to 25, the caller asks again."""
        return min(LONGEST_WAIT, self.number("timeout", LONGEST_WAIT))
