"""example.yaml, which documents every option, and its pieces: an option's line with the comment above it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from floor.config.problem import Key, KeyPath
from floor.config.shape import ANY

# a key of the example: active, or with `#` right before it where the line shows a default
_OPTION = re.compile(r"^(?P<indent> *)(?P<dash>- )?(?P<off>#)?(?P<key>[a-z_][a-z0-9_-]*):(?P<value>.*)$")
_COMMENT = re.compile(r"^ *# (?P<text>.*)$")
_NAMED = ("boxes", "models")  # what stands below these are names, not options


@dataclass(frozen=True)
class Option:
    """An option of the example: its path with ANY for names, the lines of its comment, its value as written there."""

    path: KeyPath
    comment: tuple[str, ...]
    value: str
    active: bool


def read() -> str:
    """Return the text of example.yaml."""
    return resources.files("floor.config").joinpath("example.yaml").read_text(encoding="utf-8")


@cache
def options() -> tuple[Option, ...]:
    """Return the options of the example in its order, each as it stands there first."""
    found: dict[KeyPath, Option] = {}
    around: list[tuple[int, Key]] = []
    comment: list[str] = []
    for line in read().splitlines():
        option = _OPTION.match(line)
        if option is None:
            text = _COMMENT.match(line)
            comment = [*comment, text["text"]] if text else []
            continue
        column = len(option["indent"])
        around = [(at, key) for at, key in around if at < column]
        if option["dash"]:
            around.append((column, ANY))
            column += 2
        key: Key = ANY if around and around[-1][1] in _NAMED and len(around) == 1 else option["key"]
        around.append((column, key))
        path = tuple(key for _, key in around)
        if path not in found:
            found[path] = Option(path, tuple(comment), option["value"].strip(), not option["off"])
        comment = []
    return tuple(found.values())


def below(path: KeyPath) -> list[Option]:
    """Given a path, return the options that stand right below it."""
    return [option for option in options() if option.path[:-1] == path]
