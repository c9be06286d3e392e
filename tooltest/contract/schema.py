"""Does a value fit a JSON Schema? The keywords that tool schemas use (json-schema.org, 2020-12), strict about types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _whole(value),
}


def _whole(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def misfits(value: Any, schema: Schema, root: Schema | None = None, place: str = "") -> Iterator[str]:
    """Yield a sentence for each thing that does not fit. `root` resolves local `$ref`s; `place` is a dotted path."""
    root = schema if root is None else root
    if "$ref" in schema:
        yield from misfits(value, resolve(str(schema["$ref"]), root), root, place)
    where = place or "the arguments"
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_TYPES[kind](value) for kind in kinds):
        yield f"{where}: {_shown(value)} is no {' or '.join(kinds)}"
        return
    if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
        yield f"{where}: {_shown(value)} is none of {', '.join(map(str, schema['enum']))}"
    if "const" in schema and not same(value, schema["const"]):
        yield f"{where}: {_shown(value)} is not {schema['const']!r}"
    yield from _choices(value, schema, root, place)
    if isinstance(value, Mapping):
        yield from _object(value, schema, root, place)
    elif isinstance(value, list):
        yield from _array(value, schema, root, place)
    elif isinstance(value, str):
        yield from _string(value, schema, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, where)


def fits(value: Any, schema: Schema, root: Schema | None = None) -> bool:
    """Whether `value` fits."""
    return next(misfits(value, schema, root), None) is None


def same(one: Any, other: Any) -> bool:
    """Equality as JSON has it: true is not 1, 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def resolve(reference: str, root: Schema) -> Schema:
    """The part of `root` that a local reference names. Raises KeyError where there is none."""
    found: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return dict(found)


def _choices(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    where = place or "the arguments"
    for part in schema.get("allOf", ()):
        yield from misfits(value, part, root, place)
    if "anyOf" in schema and not any(fits(value, part, root) for part in schema["anyOf"]):
        yield f"{where}: {_shown(value)} fits none of the schema's alternatives"
    if "oneOf" in schema and sum(fits(value, part, root) for part in schema["oneOf"]) != 1:
        yield f"{where}: {_shown(value)} does not fit exactly one of the schema's alternatives"


def _object(value: Mapping[str, Any], schema: Schema, root: Schema, place: str) -> Iterator[str]:
    where = place or "the arguments"
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}: {name} is missing"
    for name, part in value.items():
        inside = f"{place}.{name}" if place else name
        if name in known:
            yield from misfits(part, known[name], root, inside)
        elif schema.get("additionalProperties") is False:
            yield f"{where}: {name} is not in the schema"
        elif isinstance(schema.get("additionalProperties"), Mapping):
            yield from misfits(part, schema["additionalProperties"], root, inside)


def _array(value: list[Any], schema: Schema, root: Schema, place: str) -> Iterator[str]:
    where = place or "the arguments"
    if len(value) < schema.get("minItems", 0):
        yield f"{where}: {len(value)} items, at least {schema['minItems']} are needed"
    if len(value) > schema.get("maxItems", len(value)):
        yield f"{where}: {len(value)} items, at most {schema['maxItems']} are allowed"
    for at, part in enumerate(value):
        yield from misfits(part, schema.get("items", {}), root, f"{place}[{at}]")


def _string(value: str, schema: Schema, where: str) -> Iterator[str]:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        yield f"{where}: {_shown(value)} has {len(value)} characters"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: {_shown(value)} does not match {schema['pattern']}"


def _number(value: float, schema: Schema, where: str) -> Iterator[str]:
    if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where}: {value} is out of bounds"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
