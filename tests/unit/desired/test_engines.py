"""Copies of other engines than vLLM: their units, their keys, what the pool and the warm-up are told of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from floor.config import Config, parse
from floor.desired.build import build
from floor.desired.state import BoxFacts, BoxState, Unit
from tests.unit.desired import unitfile
from tests.unit.render import systemd_reader

CASE = Path(__file__).parents[2] / "cases" / "config-accepted" / "three-engines.yaml"
OLLAMA = """\
boxes: {spark-a: {host: 192.0.2.11}, spark-b: {host: 192.0.2.12}}
models:
  small:
    engine: ollama
    source: /models/ollama
    context: 4096
    env: {OLLAMA_DEBUG: "1"}
    runtime: {kind: native, command: /usr/local/bin/ollama}
    replicas: [spark-a, {box: spark-b, runtime: {kind: docker, image: "registry.example/ollama:1", gpus: none}}]
proxy: {boxes: [spark-a]}
"""


@pytest.fixture(scope="module")
def mixed() -> Config:
    return parse(yaml.safe_load(CASE.read_text())["input"])


def made(config: Config) -> dict[str, BoxState]:
    facts = {name: BoxFacts(box.host) for name, box in config.boxes.items()}
    return build(config, "replicas", facts, "1")


def unit(states: dict[str, BoxState], box: str, model: str) -> tuple[Unit, unitfile.UnitFile]:
    name = f"floor-copy-{model}.service"
    return next(unit for unit in states[box].units if unit.name == name), unitfile.read(states[box], name)


def text(states: dict[str, BoxState], box: str, path: str) -> dict[str, object]:
    file = states[box].file(path)
    assert file is not None
    found: dict[str, object] = json.loads(file.text)
    return found


def test_llamacpp_is_started_by_its_own_words_with_its_own_key(mixed: Config) -> None:
    found, file = unit(made(mixed), "spark-a", "llama")
    assert found.launch.argv[:3] == ("/opt/llama.cpp/llama-server", "--model", "/models/llama.gguf")
    assert tuple(systemd_reader.command_line(file.one("Service", "ExecStart"))) == found.launch.argv
    assert "--ctx-size 393216 --parallel 12" in " ".join(found.launch.argv)
    assert '{"enable_thinking":false}' in found.launch.argv
    assert "/a,/b" in found.launch.argv
    assert "/etc/floor/secrets/engine-llamacpp.env" in file["Service", "EnvironmentFile"]
    assert found.launch.env["GGML_CUDA_ENABLE_UNIFIED_MEMORY"] == "1"
    assert "HF_HUB_OFFLINE" not in found.launch.env


def test_a_copy_of_another_engine_takes_over_neither_weights_nor_flags(mixed: Config) -> None:
    states = made(mixed)
    assert "--enforce-eager" in unit(states, "spark-a", "mixed")[0].launch.argv
    found, _ = unit(states, "spark-b", "mixed")
    words = " ".join(found.launch.argv)
    assert "--entrypoint /app/llama-server registry.example/llama.cpp:b9000 --model /models/flagship.gguf" in words
    assert "--volume /models:/models:ro" in words
    assert "--env LLAMA_API_KEY" in words
    assert "enforce-eager" not in words


def test_a_pool_of_two_engines_asks_each_in_its_own_words(mixed: Config) -> None:
    pools = text(made(mixed), "spark-a", "/etc/floor/pool.json")["pools"]
    assert isinstance(pools, list)
    told = {one["name"]: (one["dialect"], one["key"], one.get("task")) for pool in pools for one in pool["backends"]}
    assert told == {
        "llama@spark-a": ("llamacpp", True, None),
        "llama@mac": ("ollama", False, None),
        "mixed@spark-a": ("vllm", True, None),
        "mixed@spark-b": ("llamacpp", True, None),
        "vectors@spark-a": ("vllm", True, "embed"),
    }


def test_a_model_for_embeddings_is_started_and_warmed_as_one(mixed: Config) -> None:
    states = made(mixed)
    assert "--runner pooling" in " ".join(unit(states, "spark-a", "vectors")[0].launch.argv)
    assert text(states, "spark-a", "/etc/floor/engines/vectors.json")["task"] == "embed"


@pytest.mark.parametrize("own", [{"task": "embed"}, {"runner": "auto"}])
def test_older_releases_of_vllm_have_another_word_for_it(mixed: Config, own: dict[str, str]) -> None:
    model = mixed.models["vectors"].model_copy(update={"args": own})
    config = mixed.model_copy(update={"models": {**mixed.models, "vectors": model}})
    words = " ".join(unit(made(config), "spark-a", "vectors")[0].launch.argv)
    ((flag, value),) = own.items()
    assert f"--{flag} {value}" in words
    assert "--runner pooling" not in words


def test_ollama_gets_everything_by_variables_and_no_key() -> None:
    states = made(parse(OLLAMA))
    native, _ = unit(states, "spark-a", "small")
    assert native.launch.argv == ("/usr/local/bin/ollama", "serve")
    assert native.launch.env["OLLAMA_HOST"] == "192.0.2.11:8000"
    assert native.launch.env["HOME"] == "/var/cache/floor/small"
    assert native.launch.env["OLLAMA_DEBUG"] == "1"
    written = states["spark-a"].file("/etc/systemd/system/floor-copy-small.service")
    assert written is not None
    assert "/etc/floor/secrets/engine" not in written.text
    docked, _ = unit(states, "spark-b", "small")
    words = " ".join(docked.launch.argv)
    assert "--env OLLAMA_HOST=192.0.2.12:8000" in words
    assert "--volume /models/ollama:/models/ollama:ro" in words
    assert words.endswith("--entrypoint ollama registry.example/ollama:1 serve")
    assert "API_KEY" not in words
    assert [text(states, box, "/etc/floor/engines/small.json")["card"] for box in states] == [True, False]
    assert text(states, "spark-a", "/etc/floor/engines/small.json")["key_file"] is None


def test_systemd_waits_for_the_requests_of_an_engine_that_cuts_them() -> None:
    _, file = unit(made(parse(OLLAMA)), "spark-a", "small")
    assert int(file.one("Service", "TimeoutStopSec")) > 1800
