"""`floor layout --write`: the chosen layout as edits of floor.yaml. Comments and order stay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from floor.config import edit
from floor.config.load import Loaded, examine
from floor.config.model import Config, Model
from floor.config.problem import KeyPath
from floor.errors import RefusedError, UsageError
from floor.layout.assign import Answer
from floor.layout.backend import TENSOR, Backend
from floor.layout.layouts import SPLIT
from floor.sizes import GIB

Edit = tuple[KeyPath, Any]
_SETTINGS = {"context": "context", "kv_cache": "kv_cache", "cap": "max_requests"}


def proposed(loaded: Loaded, answers: Sequence[Answer], settings: Mapping[str, object]) -> tuple[str, str, list[str]]:
    """Given the file, what is said of its models and the settings that were asked for, return the new text, the
    difference, empty where there is none, and what must be done by hand.

    Raise UsageError for a model or a box that is not in the file, RefusedError where a model fits nowhere, ConfigError
    where the file would not be right with it.
    """
    text, name = loaded.text, str(loaded.path)
    by_hand: list[str] = []
    for answer in answers:
        for path, value in edits(loaded.config, answer, settings, len(answers) > 1):
            text = edit.set_value(text, path, value, name)
        by_hand += _left(loaded.config, answer)
    if text != loaded.text:
        examine(text, name)
    return text, edit.diff(loaded.text, text, name), by_hand


def edits(config: Config, answer: Answer, settings: Mapping[str, object], shared: bool) -> Iterator[Edit]:
    """Given the config, what is said of a model, the settings that were asked for, and whether other models share the
    boxes, yield (path, value) of each option that differs.
    """
    name, chosen = answer.want.name, answer.advice.chosen
    if chosen is None:
        raise RefusedError(f"{name}: nothing fits, so nothing is written")
    if name not in config.models:
        raise UsageError(f"--write: model {name} is not in the file; add it there first")
    if missing := [box for box in chosen.boxes if box not in config.boxes]:
        raise UsageError(f"--write: box {missing[0]} is not in the file; add it there first")
    model, base = config.models[name], ("models", name)
    for key, option in _SETTINGS.items():
        if key in settings and getattr(model, option) != settings[key]:
            yield (*base, option), settings[key]
    if chosen.mode == SPLIT:
        yield from _split(model, base, chosen.backends[0], shared)
        return
    places = {copy.box: number for number, copy in enumerate(model.replicas)}
    for backend in chosen.backends:
        place = places.setdefault(backend.boxes[0], len(places))
        yield from _copy(model, (*base, "replicas", place), place, backend, shared)


def _copy(model: Model, path: KeyPath, place: int, backend: Backend, shared: bool) -> Iterator[Edit]:
    own = model.replicas[place] if place < len(model.replicas) else None
    if own is None:
        yield path, backend.boxes[0]
    engine = (own.engine if own else None) or model.engine
    if engine != "vllm":
        return  # others have no share
    for option, value in _memory(backend, backend.boxes[0], shared).items():
        if own is None or getattr(own, option) is None or getattr(own, option) != value:
            yield (*path, option), value
    args = {**model.args, **(own.args if own else {})}
    stages = len(backend.stages)
    for flag, many in (("tensor-parallel-size", backend.tp), ("pipeline-parallel-size", stages)):
        if args.get(flag, 1) != many:
            yield (*path, "args", flag), many
    if stages > 1:
        yield (*path, "env", "VLLM_PP_LAYER_PARTITION"), ",".join(map(str, backend.layers))


def _split(model: Model, base: KeyPath, backend: Backend, shared: bool) -> Iterator[Edit]:
    parts = [{"box": box, **_memory(backend, box, shared)} for box in backend.boxes]
    options: dict[str, Any] = {"boxes": list(backend.boxes)}
    if backend.how == TENSOR or backend.tp > 1:
        options["tensor_parallel"] = backend.tp
    if backend.how != TENSOR:
        options["pipeline"] = list(backend.layers)
    options["parts"] = parts
    if model.split is None:
        yield (*base, "split"), options
        return
    for option in ("tensor_parallel", "pipeline"):
        if option not in options and getattr(model.split, option) is not None:
            options[option] = None  # what the other way of cutting left
    for option, value in options.items():
        found = getattr(model.split, option)
        plain = [part.model_dump(exclude_unset=True) for part in found] if option == "parts" else found
        if plain != value:
            yield (*base, "split", option), value


def _memory(backend: Backend, box: str, shared: bool) -> dict[str, Any]:
    """The share of a box; beside other engines the bytes of its cache as well, which no share says exactly."""
    uses = [used for used in backend.uses if used.box == box]
    found: dict[str, Any] = {"utilization": round(max(used.share for used in uses), 2)}
    if shared:
        found["cache_memory"] = f"{math.floor(min(used.cache for used in uses) / GIB * 10) / 10:g}GiB"
    return found


def _left(config: Config, answer: Answer) -> list[str]:
    """Copies that the file has and the layout has not: they are not taken away behind anybody's back."""
    chosen, name = answer.advice.chosen, answer.want.name
    if chosen is None or chosen.mode == SPLIT:
        return []
    more = [copy.box for copy in config.models[name].replicas if copy.box not in chosen.boxes]
    return [f"{name} has a copy on {box} that this layout has not; take it out of replicas by hand" for box in more]
