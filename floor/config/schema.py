"""JSON Schema of floor.yaml, for editors. `python -m floor.config.schema` prints what is committed as schema.json."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from floor.config import shape
from floor.config.check.runtime import ONLY
from floor.config.model import Config
from floor.config.models import Copy

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of floor.yaml: keys and single values. What lies between them only `floor check` tells."""
    made = Config.model_json_schema(by_alias=False)
    parts = {part.__name__: part for part in _parts()}
    for name, definition in (("Config", made), *made["$defs"].items()):
        _describe(definition, parts[name])
    for definition in (made, *made["$defs"].values()):
        for property_ in definition["properties"].values():
            if "patternProperties" in property_:
                property_["additionalProperties"] = False  # a name that fits no pattern would pass
    # a copy may be the bare name of its box
    box = made["$defs"]["Copy"]["properties"]["box"]
    name_only = {key: box[key] for key in ("type", "pattern", "maxLength")}
    made["$defs"]["Model"]["properties"]["replicas"]["items"] = {"anyOf": [name_only, {"$ref": "#/$defs/Copy"}]}
    # a section whose options are all comments is null to an editor
    for key in ("health", "guard", "watchdog", "notify", "metrics"):
        section = made["properties"][key]
        section["anyOf"] = [{"$ref": section.pop("$ref")}, {"type": "null"}]
    made["$defs"]["Runtime"]["allOf"] = [_of_kind("docker", "native", "image"), _of_kind("native", "docker", "command")]
    return {"$schema": DIALECT, **made, "title": "floor.yaml"}


def text() -> str:
    """Return the schema as the file holds it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _parts() -> set[type[BaseModel]]:
    return {Config, Copy, *(owner for _, _, owner in shape.fields())}


def _describe(definition: dict[str, Any], part: type[BaseModel]) -> None:
    said = shape.sayings(part)
    definition.pop("description", None)  # the class's docstring, which is for readers of the code
    for name, property_ in definition["properties"].items():
        property_.pop("title", None)
        if name in said:
            property_["description"] = said[name]


def _of_kind(kind: str, other: str, needed: str) -> dict[str, Any]:
    never = dict.fromkeys(ONLY[other], False)
    return {"if": {"properties": {"kind": {"const": kind}}}, "then": {"required": [needed], "properties": never}}


if __name__ == "__main__":
    print(text(), end="")
