"""Models and their copies: where they are, and what a copy that floor does not start cannot have."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config import hosts
from floor.config.check import parts
from floor.config.model import Config
from floor.config.problem import Problem

_SOURCES = {
    "vllm": "the folder with the weights, such as /models/flagship",
    "llamacpp": "the model's .gguf file, such as /models/small.gguf",
    "ollama": "the folder of Ollama's models, such as /models/ollama",
}
_PROGRAMS = {
    "vllm": "/opt/vllm/bin/vllm",
    "llamacpp": "/opt/llama.cpp/llama-server",
    "ollama": "/usr/local/bin/ollama",
}
_STARTING = ("source", "fetch", "max_requests", "kv_cache", "utilization", "cache_memory", "runtime", "args", "env")
_MODELS_STARTING = ("source", "fetch", "kv_cache", "utilization", "cache_memory", "runtime", "args", "env")


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its models and their copies."""
    if not config.models:
        yield Problem(("models",), "at least one model", "no model")
    yield from _names(config)
    for name, model in config.models.items():
        path = ("models", name, "replicas")
        if not model.replicas and model.split is None:
            write = "the boxes that hold a copy, such as [spark-a, spark-b]"
            yield Problem(("models", name, "replicas"), write, "no copy")
        boxes = [copy.box for copy in model.replicas]
        for problem in parts.references(config, boxes, path, managed=False):
            yield Problem((*problem.path, "box"), problem.write, problem.found)
    for placed in parts.copies(config):
        yield from _managed(placed) if placed.box.managed else _unmanaged(placed)
    yield from _without_effect(config)
    yield from _same_backend(config)


def _names(config: Config) -> Iterator[Problem]:
    """nginx's upstreams are floor_NAME with `_` for `.` and `-`: two models must not share one."""
    first: dict[str, str] = {}
    for name in config.models:
        plain = name.replace(".", "-")
        if plain in first:
            write = "a name that differs by more than `.` and `-`"
            yield Problem(("models", name), write, f"{name} beside {first[plain]}")
        first.setdefault(plain, name)


def _managed(placed: parts.Placed) -> Iterator[Problem]:
    for key in ("url", "key"):
        if key in placed.copy.model_fields_set:
            write = f"nothing here (floor itself sets the {key} of a copy that it starts)"
            yield Problem((*placed.path, key), write)
    engine = placed.resolved.engine
    if not placed.resolved.source:
        yield Problem(placed.lacking("source"), _SOURCES[engine], "nothing")
    if placed.resolved.runtime is None:
        program = f"{{kind: native, command: {_PROGRAMS[engine]}}}"
        write = f"how the engine is started, such as {{kind: docker, image: …}} or {program}"
        yield Problem(placed.lacking("runtime"), write, "nothing")


def _unmanaged(placed: parts.Placed) -> Iterator[Problem]:
    for key in _STARTING:
        if key in placed.copy.model_fields_set:
            yield Problem(
                (*placed.path, key),
                f"nothing here (floor does not start what runs on {placed.copy.box}, a box with managed: false)",
            )
    if placed.copy.url is None:
        return
    if "port" in placed.copy.model_fields_set:
        yield Problem((*placed.path, "port"), "either url or port", "port beside url")
    if hosts.normal(hosts.split_url(placed.copy.url)[0]) != hosts.normal(placed.box.host):
        write = (
            f"http://{hosts.netloc(placed.box.host, placed.resolved.port)}, or another host for box {placed.copy.box}"
        )
        yield Problem((*placed.path, "url"), write)


def _without_effect(config: Config) -> Iterator[Problem]:
    for name, model in config.models.items():
        boxes = [config.boxes[copy.box] for copy in model.replicas if copy.box in config.boxes]
        if not boxes or len(boxes) < len(model.replicas) or any(box.managed for box in boxes) or model.split:
            continue
        for key in _MODELS_STARTING:
            if key in model.model_fields_set:
                yield Problem(("models", name, key), "nothing here (every copy is on a box with managed: false)")


def _same_backend(config: Config) -> Iterator[Problem]:
    first: dict[tuple[str, int], str] = {}
    for placed in parts.copies(config):
        place = (hosts.normal(placed.box.host), placed.resolved.port)
        if place in first and not placed.box.managed:
            found = f"{hosts.netloc(placed.box.host, placed.resolved.port)}, where {first[place]} answers too"
            yield Problem((*placed.path, "url" if placed.copy.url else "port"), "the port of another server", found)
        first.setdefault(place, placed.resolved.backend)
