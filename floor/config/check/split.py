"""Split: one model over several boxes. Checked now, so that the file is ready for it; deployed by a later version."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config.check import parts
from floor.config.model import Config
from floor.config.problem import Problem

_TENSOR = ("tensor-parallel-size", "pipeline-parallel-size")


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its split models."""
    for name, model in config.models.items():
        split, path = model.split, ("models", name, "split")
        if split is None:
            continue
        yield from parts.references(config, split.boxes, (*path, "boxes"), managed=True)
        if len(set(split.boxes)) < 2:
            found = f"{len(set(split.boxes))} box" if split.boxes else "no box"
            yield Problem((*path, "boxes"), "at least two boxes, or replicas instead", found)
        if split.tensor_parallel is None and split.pipeline is None:
            yield Problem((*path, "tensor_parallel"), "tensor_parallel, pipeline or both", "neither of them")
        if split.pipeline is not None and len(split.pipeline) < 2:
            yield Problem((*path, "pipeline"), "the layers of at least two stages, such as [20, 28]")
        for flag in _TENSOR:
            if flag in model.args:
                yield Problem(("models", name, "args", flag), "nothing here (it follows from split)")
