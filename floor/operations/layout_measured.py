"""What backends told of themselves: their last starts, the logs of these, and what `floor calibrate` found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from floor.config.model import Config, ResolvedCopy
from floor.desired import copies, groups
from floor.engines import share
from floor.engines.log import Start
from floor.layout.calibrated import parse
from floor.layout.fit import constants
from floor.layout.fleet import Measured, Want
from floor.layout.known import beside
from floor.layout.ledger import Books
from floor.operations import layout_models

Answers = Mapping[str, Mapping[str, Any]]


def measured(want: Want, config: Config, answers: Answers) -> dict[str, Measured]:
    """Given a model, the config and what boxes told, return by backend how long its last start took, what its engine
    takes beside weights and cache, and what it was measured at."""
    backends = [*config.copies(want.name), *config.parts(want.name)[:1]]
    known = {one.backend: entry for one in backends if (entry := _calibrated(config, one, answers))}
    found = {name: Measured(speeds=parse(entry["points"])) for name, entry in known.items()}
    for told_by in answers.values():
        for name, seconds in told_by.get("starts", {}).items():
            if name.startswith(f"{want.name}@"):  # a group's head has seen the whole of its start
                before = found.get(name, Measured())
                found[name] = replace(before, start=max(before.start or 0.0, float(seconds)))
    for one in backends:
        logged = _logged(one, answers) or known.get(one.backend)
        cut = cut_of(config, one)
        if logged and logged.get("utilization") and logged.get("start") and cut:
            tp, layers = cut
            own = Books(want, constants()).ledger(tp).weights(0, layers or len(want.shape.layers))
            total = share.whole(answers[one.box]["gpus"], answers[one.box]["memory"]) or 0
            parts = beside(Start.of(logged["start"]), logged["utilization"], total, own)
            found[one.backend] = replace(found.get(one.backend, Measured()), overhead=parts)
    cuts = {one.backend: layout_models.cut(config, one, len(want.shape.layers)) for one in backends}
    return {name: replace(one, cut=cuts.get(name)) for name, one in found.items()}


def build(config: Config, one: ResolvedCopy) -> str:
    """Given the config and a copy, or the head of a group, return a digest of what its speed goes by: engine, image or
    program, weights, kind of cache, arguments, environment, and how a group is cut. Shares, caps and ports are none of
    that."""
    split = config.models[one.model].split if _grouped(one) else None
    cut = [split.tensor_parallel, split.pipeline] if split else []
    program = [one.runtime.image, one.runtime.entrypoint, one.runtime.command] if one.runtime else []
    parts = [
        one.engine,
        program,
        one.source,
        one.kv_cache,
        sorted(map(str, one.args.items())),
        sorted(one.env.items()),
        *cut,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def cut_of(config: Config, one: ResolvedCopy) -> tuple[int, int | None] | None:
    """Given the config and a copy, or the head of a group, return how many cards share its layers, and the layers of
    its first stage (None: all); None where its box has several stages, of which its log does not tell one from another.
    """
    split = config.models[one.model].split if _grouped(one) else None
    if split is None:
        tp = one.args.get("tensor-parallel-size", 1)
        return (tp, None) if isinstance(tp, int) and one.args.get("pipeline-parallel-size", 1) == 1 else None
    tp = split.tensor_parallel or 1
    if not split.pipeline:
        return tp, None
    return (tp, split.pipeline[0]) if len(split.pipeline) <= len(split.boxes) else None


def _grouped(one: ResolvedCopy) -> bool:
    return "+" in one.backend.rpartition("@")[2]


def _calibrated(config: Config, one: ResolvedCopy, answers: Answers) -> Mapping[str, Any] | None:
    """The last of what a backend was measured at with the build that the file has."""
    kept = answers.get(one.box, {}).get("calibrated", {}).get(one.backend, ())
    return next((entry for entry in reversed(kept) if entry.get("build") == build(config, one)), None)


def _logged(one: ResolvedCopy, answers: Answers) -> Mapping[str, Any] | None:
    """What the guard has read in the log of its last start."""
    unit = groups.unit_name(one.model) if _grouped(one) else copies.unit_name(one.model)
    found: Mapping[str, Any] | None = answers.get(one.box, {}).get("logged", {}).get(unit)
    return found
