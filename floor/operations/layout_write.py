"""`floor layout --write`: the chosen layout as edits of floor.yaml. Comments and order stay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from floor.config import edit
from floor.config.load import Loaded, examine
from floor.config.model import Config, Model
from floor.config.models import Split
from floor.config.problem import KeyPath
from floor.errors import RefusedError, UsageError
from floor.layout.assign import Answer
from floor.layout.backend import TENSOR, Backend
from floor.layout.layouts import SPLIT
from floor.sizes import GIB

Edit = tuple[KeyPath, Any]
PARTITION = "VLLM_PP_LAYER_PARTITION"
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
        by_hand += [*_left(loaded.config, answer), *_not_written(loaded.config, answer, settings)]
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
    said = shared or (own.cache_memory if own and "cache_memory" in own.model_fields_set else model.cache_memory)
    for option, value in _memory(backend, backend.boxes[0], shared=bool(said)).items():
        if own is None or getattr(own, option) is None or getattr(own, option) != value:
            yield (*path, option), value
    args = {**model.args, **(own.args if own else {})}
    stages = len(backend.stages)
    for flag, many in (("tensor-parallel-size", backend.tp), ("pipeline-parallel-size", stages)):
        if args.get(flag, 1) != many:
            yield (*path, "args", flag), many
    if stages > 1:
        yield (*path, "env", PARTITION), ",".join(map(str, backend.layers))


def _split(model: Model, base: KeyPath, backend: Backend, shared: bool) -> Iterator[Edit]:
    said = shared or _size_is_said(model)
    parts = [{"box": box, **_memory(backend, box, shared=said)} for box in backend.boxes]
    options: dict[str, Any] = {"boxes": list(backend.boxes)}
    if backend.how == TENSOR or backend.tp > 1:
        options["tensor_parallel"] = backend.tp
    if backend.how != TENSOR:
        options["pipeline"] = list(backend.layers)
    if model.split is None:
        yield (*base, "split"), {**options, "parts": parts}
        return
    for option in ("tensor_parallel", "pipeline"):
        if option not in options and getattr(model.split, option) is not None:
            options[option] = None  # what the other way of cutting left
    for option, value in options.items():
        if getattr(model.split, option) != value:
            yield (*base, "split", option), value
    yield from _parts(model.split, (*base, "split", "parts"), parts)


def _parts(split: Split, path: KeyPath, parts: Sequence[Mapping[str, Any]]) -> Iterator[Edit]:
    """Each option by itself, so that what stands beside it stays; the whole list where a box has left the group."""
    places = {part.box: number for number, part in enumerate(split.parts)}
    if not places or not set(places) <= {part["box"] for part in parts}:
        yield path, list(parts)
        return
    for part in parts:
        place = places.setdefault(part["box"], len(places))
        if place >= len(split.parts):
            yield (*path, place), part
            continue
        for option, value in part.items():
            if getattr(split.parts[place], option) != value:
                yield (*path, place, option), value


def _size_is_said(model: Model) -> bool:
    """Whether the file says how large the cache of its group is: then what the layout has goes in its place."""
    split = model.split
    sizes = (model.cache_memory, *((split.cache_memory, *(part.cache_memory for part in split.parts)) if split else ()))
    return any(size is not None for size in sizes)


def _memory(backend: Backend, box: str, *, shared: bool) -> dict[str, Any]:
    """The share of a box; beside other engines, or where the file says its size, the bytes of its cache as well."""
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


def _not_written(config: Config, answer: Answer, settings: Mapping[str, object]) -> Iterator[str]:
    """What the layout was computed with, and `floor.yaml` has not."""
    name, chosen = answer.want.name, answer.advice.chosen
    if "quant" in settings:
        yield f"{name}: its shares are those of weights in {settings['quant']}; fetch such a build and write its source"
    drafting = config.models[name].args.get("speculative-config")
    drafts = drafting.get("num_speculative_tokens", 0) if isinstance(drafting, Mapping) else 0
    if "drafts" in settings and settings["drafts"] != drafts:
        said = f"found {drafts} drafts in args (speculative-config), computed with {settings['drafts']}"
        yield f"{name}: {said}; write them"
    if chosen is None or chosen.mode == SPLIT:
        return
    one_stage = {backend.boxes[0] for backend in chosen.backends if len(backend.stages) == 1}
    for copy in config.copies(name):
        if copy.box in one_stage and PARTITION in copy.env:
            yield f"{copy.backend} has one stage; take {PARTITION} out of its env, or it does not start"
