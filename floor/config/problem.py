"""A thing that is wrong in floor.yaml, and its place there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Key = str | int
KeyPath = tuple[Key, ...]

_LONGEST_SHOWN = 60
_SECRET = re.compile(r"(?i)(^|[-_])(api[-_]?key|token|secret|password|passwd)$")


@dataclass(frozen=True)
class Problem:
    """What is wrong at `path` and what to write there.

    `found` is None where the file's own words tell it best, `line` where the path tells it.
    """

    path: KeyPath
    write: str
    found: str | None = None
    warning: bool = False
    line: int | None = None


@dataclass(frozen=True)
class Source:
    """A YAML text as plain values, with the line of every path and the words that stand there."""

    name: str
    data: Any
    lines: Mapping[KeyPath, int]
    words: Mapping[KeyPath, str]

    def line(self, problem: Problem) -> int:
        """Given a problem, return its line (from 1)."""
        return self.line_of(problem.path) if problem.line is None else problem.line

    def line_of(self, path: KeyPath) -> int:
        """Given a path, return its line, or that of the nearest thing around it in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def found(self, path: KeyPath) -> str:
        """Given a path, return what the file holds there; values that could be secrets are not repeated."""
        around = self.words.get(path[:-1], "a mapping")  # a copy may be a bare name instead
        words = self.words.get(path, "nothing" if around in ("a mapping", "a list") else around)
        if words != "nothing" and any(isinstance(key, str) and (key == "env" or _SECRET.search(key)) for key in path):
            return "a value"
        return words

    def tell(self, problem: Problem) -> str:
        """Given a problem, return the line that a person reads: PLACE (FILE:LINE): found X; write Y."""
        found = self.found(problem.path) if problem.found is None else problem.found
        where = f"{self.name}:{self.line(problem)}"
        place = f"{show(problem.path)} ({where})" if problem.path else where
        return f"{place}: found {found}; {'better ' if problem.warning else ''}write {problem.write}"


def show(path: KeyPath) -> str:
    """Given a path, return it as `models.flagship.replicas[1].weight`."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{short(key)}" for key in path)
    return "".join(parts).removeprefix(".")


def short(text: str) -> str:
    """Given any text, return it on one line, printable and cut to sixty characters."""
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
