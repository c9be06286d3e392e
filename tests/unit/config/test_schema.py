"""The JSON Schema for editors: current, taken by the examples, and refusing what single values get wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from floor.config import example, schema

ROOT = Path(__file__).parents[3]
FILES = [*sorted((ROOT / "examples").glob("*.yaml")), ROOT / "floor" / "config" / "example.yaml"]


def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema.schema())


def _good() -> Any:
    return yaml.safe_load(example.read())


def test_the_committed_schema_is_current() -> None:
    committed = (ROOT / "floor" / "config" / "schema.json").read_text()
    assert committed == schema.text(), "run: python -m floor.config.schema > floor/config/schema.json"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_examples_fit_it(path: Path) -> None:
    data = yaml.safe_load(path.read_text())
    assert [error.message for error in _validator().iter_errors(data)] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["boxes", "spark-a", "host"], 5),
        (["boxes", "spark-a", "hots"], "192.0.2.1"),
        (["boxes", "spark-a", "keep_free"], "8GB"),
        (["boxes", "Spark_A"], {"host": "192.0.2.1"}),
        (["models", "flagship", "utilization"], 112),
        (["models", "flagship", "utilization"], 0),
        (["models", "flagship", "port"], "8000"),
        (["models", "flagship", "port"], 70000),
        (["models", "flagship", "request_time"], "soon"),
        (["models", "flagship", "source"], "org/name"),
        (["models", "flagship", "engine"], "sglang"),
        (["models", "flagship", "replicas"], [{"weight": 2}]),
        (["models", "flagship", "replicas"], ["Spark_A"]),
        (["models", "flagship", "env"], {"A": 1}),
        (["models", "flagship", "runtime"], {"kind": "docker"}),
        (["models", "flagship", "runtime"], {"kind": "native", "command": "/opt/vllm/bin/vllm", "image": "a:b"}),
        (["proxy"], {"listen": 8080}),
        (["monitoring"], {}),
    ],
)
def test_simple_errors_do_not(path: list[str], value: Any) -> None:
    data = _good()
    here = data
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    assert list(_validator().iter_errors(data))


def test_editors_show_the_models_words() -> None:
    definitions = schema.schema()["$defs"]
    assert definitions["Box"]["properties"]["keep_free"]["description"].startswith("Memory that must stay free")
    assert "description" not in definitions["Box"]
