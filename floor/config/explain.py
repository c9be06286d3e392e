"""pydantic's errors in floor's words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from floor.config import shape
from floor.config.flags import OWN
from floor.config.problem import KeyPath, Problem, short

_SECTIONS: Mapping[KeyPath, str] = {
    ("boxes",): "the boxes, such as boxes: {spark-a: {host: 192.0.2.11}}",
    ("models",): "the models, each under its name with source, runtime and replicas below it",
    ("proxy",): "where nginx runs, such as proxy: {boxes: [spark-a]}",
}
# what other files call it
_OTHER_NAMES = {
    "address": "host", "ip": "host", "hostname": "host", "copies": "replicas", "path": "source", "model": "source",
    "max_model_len": "context", "docker": "runtime", "gpu_memory_utilization": "utilization", "image": "runtime.image",
    "environment": "env", "timeout": "request_time", "tensor_parallel_size": "tensor_parallel", "server": "boxes",
}  # fmt: skip


def explain(errors: Iterable[Mapping[str, Any]], told: Iterable[KeyPath] = ()) -> Iterator[Problem]:
    """Given pydantic's errors and the paths that are told of already, yield what is wrong, once for each path."""
    seen = set(told)
    for error in errors:
        path = tuple(key for key in error["loc"] if key != "[key]")
        if error["type"] != "extra_forbidden" and any(path[:end] in seen for end in range(1, len(path) + 1)):
            continue
        seen.add(path)
        yield _problem(error, path)


def _problem(error: Mapping[str, Any], path: KeyPath) -> Problem:
    kind = error["type"]
    if kind == "extra_forbidden":
        return Problem(path, instead_of(str(path[-1]), shape.keys(path[:-1])), "an unknown key")
    if error["loc"][-1] == "[key]" and path[-2] == "args":
        flag = str(path[-1]).lstrip("-").replace("_", "-")
        return Problem(path, f"{short(flag)}: no dashes before it, and `-` for `_`", short(str(path[-1])))
    if error["loc"][-1] == "[key]":
        return Problem(path, str(error["msg"]), f"the name {short(str(path[-1]))}")
    if kind == "missing":
        return Problem(path, _SECTIONS.get(path) or shape.write(path))
    if kind == "value_error":
        return Problem(path, str(error["ctx"]["error"]))
    if kind == "write":
        return Problem(path, str(error["msg"]))
    return Problem(path, shape.write(path))


def instead_of(key: str, known: list[str]) -> str:
    """Given an unknown key and those that are known in its place, return what to write instead."""
    plain = key.lower().strip("-").replace("-", "_")
    own = OWN.get(plain.replace("_", "-"), "")
    for guess in (plain, _OTHER_NAMES.get(plain, ""), own, *difflib.get_close_matches(plain, known, 1, 0.6)):
        if guess.split(".")[0] in known:
            return guess
    return f"one of {', '.join(known)}"
