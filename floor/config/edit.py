"""Changes one value in the text of a floor.yaml and leaves every other character where it is.

The text around a value (comments, order, columns, quotes, line ends) is kept, not written anew. What comes out is read
again: unless exactly that value differs, the edit is refused.
"""

from __future__ import annotations

import difflib
import json
from typing import Any

from floor.config import source
from floor.config.emit import flow
from floor.config.problem import KeyPath, show
from floor.config.splice import splice
from floor.errors import ConfigError


def set_value(text: str, path: KeyPath, value: Any, name: str = "floor.yaml") -> str:
    """Given a floor.yaml's text, the path of an option and its new value, return the text with that value in it.

    Keys that are not there yet are added, with those above them; an index one behind a list's end appends to it; a copy
    that is a bare box name becomes a mapping. Raise ConfigError where the text is no floor.yaml, and where the value
    cannot be changed alone (it stands behind an anchor that others use).
    """
    before, _ = source.read(text, name)
    wanted = _changed(before.data, path, value, name)
    if _same(before.data, wanted):
        return text
    for after in splice(text, source.compose(text, name), path, value):
        if _reads_as(after, wanted, name):
            return after
    place = f"{show(path)} ({name}:{before.line_of(path)})"
    raise ConfigError([f"{place}: found a value that cannot be changed alone; write it by hand: {flow(value)}"])


def diff(old: str, new: str, name: str = "floor.yaml") -> str:
    """Given two texts of a file and its name, return the unified diff between them, empty where there is none."""
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), name, f"{name} (new)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _reads_as(text: str, wanted: Any, name: str) -> bool:
    try:
        return _same(source.read(text, name)[0].data, wanted)
    except ConfigError:
        return False


def _same(one: Any, other: Any) -> bool:
    """As JSON: 1, 1.0 and true are three values there."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _changed(data: Any, path: KeyPath, value: Any, name: str) -> Any:
    """Given plain values, return new ones with `value` at `path`; what lies beside the path is shared with the old."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, int) and isinstance(data, list) and 0 <= key <= len(data):
        inner = _changed(_opened(data[key] if key < len(data) else None, path), rest, value, name)
        return [*data[:key], inner, *data[key + 1 :]]
    if isinstance(key, str) and isinstance(data, dict):
        return {**data, key: _changed(_opened(data.get(key), path), rest, value, name)}
    raise ConfigError([f"{name}: found no place for {show(path)}; write it by hand: {flow(value)}"])


def _opened(data: Any, path: KeyPath) -> Any:
    """Given what stands at a path's first key, return it such that the next key has a place in it."""
    if len(path) == 1:
        return data
    if data is None or data == "":
        return {} if isinstance(path[1], str) else []
    return {"box": data} if isinstance(path[0], int) and isinstance(data, str) else data
