"""docs/configuration.md, made from the model. `python -m floor.config.reference` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, get_origin

from pydantic.fields import FieldInfo

from floor.config import shape
from floor.config.models import Copy
from floor.config.problem import KeyPath

_HEAD = """\
# floor.yaml

Made from the model by `python -m floor.config.reference`; do not edit it here.

`floor init` writes a first file for this machine, `floor check` tells all that is wrong with one. A file with every
option and its comments is `floor/config/example.yaml`, complete fleets are in `examples/`, and
`floor/config/schema.json` is a JSON Schema for editors:

```yaml
# yaml-language-server: $schema=floor/config/schema.json
```

Durations are `500ms`, `90s`, `30m`, `2h` or a number of seconds. Sizes are `64MiB`, `9.5GiB`. A word that YAML 1.1 and
1.2 read differently (`no`, `on`, `22:30`, `010`, `1e3`, `1_000`) is an error: put texts in quotes. Names are lower-case
letters, digits, `-` and `.`. There are no secrets in the file: the boxes keep a copy of it.
"""
# parts of a copy and of a split that have the same keys as the model's
_AGAIN = tuple(
    ("models", shape.ANY, *place, part)
    for place in (("replicas", shape.ANY), ("split",))
    for part in ("runtime", "fetch")
)
_UNITS = ((3600.0, "h"), (60.0, "m"), (1.0, "s"), (0.001, "ms"))
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def reference() -> str:
    """Return the whole document as Markdown: a table for each part of floor.yaml."""
    options = sorted(shape.fields(), key=lambda option: [str(key) for key in option[0][:-1]])
    by_part = {path: list(some) for path, some in groupby(options, key=lambda option: option[0][:-1])}
    order = dict.fromkeys(path[:-1] for path, _, _ in shape.fields() if path[:-1] not in _AGAIN)
    return "\n".join([_HEAD, *("\n".join(_table(path, by_part[path])) + "\n" for path in order)])


def seconds(value: float) -> str:
    """Given seconds, return them as floor.yaml writes them."""
    size, unit = next(
        (pair for pair in _UNITS if value >= pair[0] and value / pair[0] == int(value / pair[0])), _UNITS[-1]
    )
    return f"{value / size:.10g}{unit}"


def size(value: int) -> str:
    """Given bytes, return them as floor.yaml writes them."""
    step, unit = next((pair for pair in _SIZES if value >= pair[0]), _SIZES[-1])
    return f"{value / step:.10g}{unit}"


def _table(path: KeyPath, options: list[tuple[KeyPath, FieldInfo, Any]]) -> Iterator[str]:
    yield f"## {_title(path)}\n"
    yield "| key | default | what | write |"
    yield "|---|---|---|---|"
    for where, field, owner in options:
        said = shape.sayings(owner).get(str(where[-1]), "In place of the model's." if owner is Copy else "")
        text, default = _default(field, said)
        yield f"| `{where[-1]}` | {default} | {_cell(text)} | {_cell(_write(where))} |"


def _title(path: KeyPath) -> str:
    names = {("boxes", "*"): "boxes.BOX", ("models", "*"): "models.MODEL"}
    for prefix, name in names.items():
        if path[:2] == prefix:
            return "".join([name, *(f".{key}" if key != "*" else "[]" for key in path[2:])])
    return ".".join(str(key) for key in path) or "At the top"


def _default(field: FieldInfo, said: str) -> tuple[str, str]:
    text, _, words = said.partition(" Default: ")
    if field.is_required():
        return text, "**needed**"
    if words:
        return text, words.rstrip(".")
    value = field.get_default(call_default_factory=True)
    if value is None:
        return text, "the model's"
    if isinstance(value, bool):
        return text, f"`{str(value).lower()}`"
    if isinstance(value, float):
        return text, f"`{seconds(value)}`"
    if isinstance(value, int) and value >= 2**20:
        return text, f"`{size(value)}`"
    return text, f"`{value}`" if isinstance(value, int | str) and value != "" else "empty"


def _write(path: KeyPath) -> str:
    here = shape.at(path)
    if shape.is_model(here) or get_origin(here) is dict:
        return "keys with their values"
    if get_origin(here) is list:
        return f"a list; each of it {shape.write((*path, 0))}"
    return shape.write(path)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
