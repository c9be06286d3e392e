"""Tool calls: when one is made, and arguments that fit their schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from floor.sim.tools import arguments, choose

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "sim" / "tool_schemas.yaml").read_text())
WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
TIME = {"type": "function", "function": {"name": "get_time"}}
TOOLS = [WEATHER, TIME]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_arguments_are_the_least_that_fits(case: dict[str, Any]) -> None:
    made = json.loads(arguments({"name": "f", "parameters": case["schema"]}))
    assert made == case["arguments"]
    jsonschema.validate(made, case["schema"] or {"type": "object"})


@pytest.mark.parametrize(
    ("choice", "text", "called"),
    [
        ("auto", "hello", None),
        ("auto", "please call get_time now", "get_time"),
        ("auto", "use a tool", "get_weather"),
        ("auto", "what a toolbox", None),
        (None, "GET_TIME", "get_time"),
        ("none", "call get_time", None),
        ("required", "hello", "get_weather"),
        ("required", "get_time", "get_time"),
        ({"type": "function", "function": {"name": "get_time"}}, "hello", "get_time"),
    ],
)
def test_a_tool_is_called_when_asked_for(choice: object, text: str, called: str | None) -> None:
    function = choose(TOOLS, choice, text)
    assert (function and function["name"]) == called


def test_a_named_tool_that_is_not_offered_is_an_error() -> None:
    with pytest.raises(KeyError):
        choose(TOOLS, {"function": {"name": "get_date"}}, "")


def test_without_tools_there_is_nothing_to_call() -> None:
    assert choose([], "required", "call a tool") is None
