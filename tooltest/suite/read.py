"""The scenarios from their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from floor.errors import FloorError

from . import nonces
from .scenario import KINDS, Document, Scenario, Turn, Wanted

FOLDER = files(__package__ or "floor.tooltest.suite")


@cache
def suite() -> tuple[Scenario, ...]:
    """All scenarios, kind by kind. Raises FloorError where a file cannot be meant: that is a defect of the suite."""
    tools = {name: _tool(name, spec) for name, spec in _load(FOLDER / "tools.yaml").items()}
    return tuple(_scenario(kind, file.name.removesuffix(".yaml"), _load(file), tools) for kind, file in _files())


@cache
def digest() -> str:
    """What tells this suite from another one: sha256 over its files."""
    total = sha256((FOLDER / "tools.yaml").read_bytes())
    for kind, file in _files():
        total.update(f"{kind}/{file.name}".encode() + file.read_bytes())
    return total.hexdigest()[:16]


def _files() -> Iterator[tuple[str, Traversable]]:
    """Each scenario's kind and file, in the suite's order."""
    for kind in KINDS:
        for file in sorted((FOLDER / "scenarios" / kind).iterdir(), key=lambda one: one.name):
            if file.name.endswith(".yaml"):
                yield kind, file


def _load(file: Traversable) -> dict[str, Any]:
    return dict(yaml.load(file.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506 - safe


def _tool(name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool's definition from its short form: `NAME!` is a required property, `TYPE, words` its schema."""
    properties, required = {}, []
    for key, value in spec.items():
        if key in ("says", "$defs"):
            continue
        kind, _, words = value.partition(", ") if isinstance(value, str) else ("", "", "")
        properties[key.rstrip("!")] = {"type": kind, "description": words} if kind else value
        if key.endswith("!"):
            required.append(key.rstrip("!"))
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    schema["additionalProperties"] = False
    if "$defs" in spec:
        schema["$defs"] = spec["$defs"]
    return {"type": "function", "function": {"name": name, "description": spec["says"], "parameters": schema}}


def _scenario(kind: str, name: str, spec: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> Scenario:
    place = f"{kind}/{name}"
    _known(place, spec, {"title", "tools", "nonces", "system", "history", "harmless", "optional", "turns"})
    offered = list(tools) if spec["tools"] == "all" else spec["tools"]
    _known(place, dict.fromkeys(offered), set(tools))
    _known(place, dict.fromkeys((spec.get("nonces") or {}).values()), set(nonces.KINDS))
    return Scenario(
        name=name,
        kind=kind,
        title=spec["title"],
        tools=tuple(tools[one] for one in offered),
        turns=tuple(_turn(place, turn) for turn in spec["turns"]),
        nonces=spec.get("nonces") or {},
        system=spec.get("system", ""),
        history=tuple(spec.get("history", ())),
        harmless=frozenset(spec.get("harmless", ())),
        optional=spec.get("optional"),
    )


def _turn(place: str, spec: Mapping[str, Any]) -> Turn:
    fields = set(Turn.__dataclass_fields__)
    _known(place, spec, fields)
    given = dict(spec)
    for name in ("says", "says_any", "never"):
        given[name] = tuple(given.get(name, ()))
    given["calls"] = tuple(
        Wanted(one["tool"], one.get("args") or {}, one.get("result")) for one in given.get("calls", ())
    )
    if "document" in given:
        given["document"] = Document(**given["document"])
    return Turn(**given)


def _known(place: str, given: Mapping[str, Any], names: set[str]) -> None:
    if strange := [one for one in given if one not in names]:
        raise FloorError(f"scenario {place}: {strange[0]!r} is none of {', '.join(sorted(names))}")
