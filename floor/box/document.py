"""Reads a service's settings, JSON that `desired` wrote: every error says the file, the place and what was expected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from floor.errors import FloorError

_AGAIN = "`floor deploy` writes it anew"


class Document:
    """One JSON object and its place in the file. Every reader raises FloorError for a value that is not right."""

    def __init__(self, value: Any, where: str, place: str = "") -> None:
        self._where, self._place = where, place
        if not isinstance(value, Mapping):
            raise FloorError(f"{where}: {place or 'the file'}: found {value!r:.60}, expected an object; {_AGAIN}")
        self._value = value

    @classmethod
    def load(cls, path: Path) -> Document:
        """Given a settings file, return it. Raise FloorError if it is missing or not JSON."""
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise FloorError(f"{path}: cannot be read ({error}); `floor deploy` writes it") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, where: str) -> Document:
        """Given a file's text and its name, return it. Raise FloorError if it is not JSON."""
        try:
            return cls(json.loads(text), where)
        except (ValueError, RecursionError) as error:
            raise FloorError(f"{where}: not JSON ({error}); {_AGAIN}") from error

    def fail(self, key: str, expected: str) -> NoReturn:
        """Raise FloorError: at `key`, something else than `expected` was found."""
        found = f"found {self._value[key]!r:.60}" if key in self._value else "is missing"
        raise FloorError(f"{self._where}: {self.place(key)}: {found}, expected {expected}; {_AGAIN}")

    def place(self, key: str) -> str:
        """Return where in the file `key` stands, as `pools[0].model`."""
        return f"{self._place}.{key}" if self._place else key

    def has(self, key: str) -> bool:
        """True unless the key is missing or null."""
        return self._value.get(key) is not None

    def text(self, key: str) -> str:
        value = self._value.get(key)
        if not isinstance(value, str) or not value or not value.isprintable():
            self.fail(key, "text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._value.get(key)
        if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
            self.fail(key, "a list of texts")
        return tuple(value)

    def path(self, key: str) -> Path:
        return Path(self.text(key))

    def number(self, key: str) -> float:
        value = self._value.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            self.fail(key, "a number above 0")
        return float(value)

    def whole(self, key: str) -> int:
        value = self._value.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.fail(key, "a whole number above 0")
        return value

    def port(self, key: str) -> int:
        value = self.whole(key)
        if value > 65535:
            self.fail(key, "a port, 1 to 65535")
        return value

    def flag(self, key: str) -> bool:
        value = self._value.get(key)
        if not isinstance(value, bool):
            self.fail(key, "true or false")
        return value

    def list(self, key: str) -> list[Document]:
        value = self._value.get(key)
        if not isinstance(value, list):
            self.fail(key, "a list")
        return [Document(entry, self._where, f"{self.place(key)}[{number}]") for number, entry in enumerate(value)]
