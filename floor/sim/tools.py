"""Tool calls of a simulated model: which tool, and arguments that fit its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

JsonObject = Mapping[str, Any]


def choose(tools: Sequence[JsonObject], choice: object, last_user_text: str) -> JsonObject | None:
    """The function to call, or None to answer in words.

    `choice` is the request's tool_choice. With "auto" (or nothing) a tool is called when the prompt names one, or asks
    for a tool at all: the word "tool" or "call". Raises KeyError when a named tool is not among `tools`.
    """
    functions: list[JsonObject] = [tool.get("function", {}) for tool in tools]
    if isinstance(choice, Mapping):
        wanted = choice.get("function", {}).get("name")
        by_name = {function.get("name"): function for function in functions}
        return by_name[wanted]
    if choice == "none" or not functions:
        return None
    text = last_user_text.lower()
    named = [f for f in functions if str(f.get("name", "")).lower() in text]
    if named:
        return named[0]
    if choice == "required" or "tool" in text.split() or "call" in text.split():
        return functions[0]
    return None


def arguments(function: JsonObject) -> str:
    """JSON text of the least arguments that its `parameters` schema allows."""
    schema = function.get("parameters") or {"type": "object"}
    return json.dumps(instance(schema, schema))


def instance(schema: JsonObject, root: JsonObject) -> Any:
    """The plainest value that fits a JSON Schema: what is required, first choices, lower bounds.

    `root` resolves local `$ref`s. A part that says nothing of its type becomes null.
    """
    if "$ref" in schema:
        return instance(_resolve(str(schema["$ref"]), root), root)
    for known in ("const", "default"):
        if known in schema:
            return schema[known]
    if schema.get("enum"):
        return schema["enum"][0]
    for union in ("anyOf", "oneOf", "allOf"):
        if schema.get(union):
            options = [option for option in schema[union] if option.get("type") != "null"]
            return instance((options or schema[union])[0], root)
    kinds = schema.get("type")
    kind = next((k for k in kinds if k != "null"), "null") if isinstance(kinds, list) else kinds
    return _of_type(kind, schema, root)


def _of_type(kind: object, schema: JsonObject, root: JsonObject) -> Any:
    if kind == "object" or "properties" in schema or "required" in schema:
        properties = schema.get("properties", {})
        return {name: instance(properties.get(name, {}), root) for name in schema.get("required", [])}
    if kind == "array":
        return [instance(schema.get("items", {}), root) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "text".ljust(schema.get("minLength", 0), "t")[: schema.get("maxLength", None)]
    if kind == "boolean":
        return True
    if kind in ("integer", "number"):
        return _least_number(schema)
    return None


def _least_number(schema: JsonObject) -> float:
    if "exclusiveMinimum" in schema:
        return int(schema["exclusiveMinimum"]) + 1
    least: float = schema.get("minimum", min(1, schema.get("maximum", 1)))
    step: float | None = schema.get("multipleOf")
    return least if not step else -(-least // step) * step


def _resolve(reference: str, root: JsonObject) -> JsonObject:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found  # type: ignore[no-any-return]  # a schema's part is a schema
