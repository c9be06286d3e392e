"""Split: one model over several boxes, as one group of ranks."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from floor.config.check import parts
from floor.config.model import Box, Config
from floor.config.models import Args, Env, Model, Split
from floor.config.problem import KeyPath, Problem

_TENSOR = ("tensor-parallel-size", "pipeline-parallel-size")
_VARIABLES = ("VLLM_PP_LAYER_PARTITION", "VLLM_HOST_IP")
# Linux's net.ipv4.ip_local_port_range by default: the kernel gives these away, to whoever asks first.
_EPHEMERAL = range(32768, 61000)


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its split models, and warnings."""
    for name, model in config.models.items():
        if model.split is not None:
            path: KeyPath = ("models", name, "split")
            yield from parts.references(config, model.split.boxes, (*path, "boxes"), managed=True)
            yield from _ranks(model.split, path)
            yield from _parts(model.split, path)
            yield from _fabric(config, name, model.split)
            yield from _model(name, model, model.split, path)


def _ranks(split: Split, path: KeyPath) -> Iterator[Problem]:
    """vLLM gives every box the same number of ranks, one for each card: tensor x stages over the boxes."""
    boxes = len(set(split.boxes))
    if boxes < 2:
        found = f"{boxes} box" if split.boxes else "no box"
        yield Problem((*path, "boxes"), "at least two boxes, or replicas instead", found)
    if split.tensor_parallel is None and split.pipeline is None:
        yield Problem((*path, "tensor_parallel"), "tensor_parallel, pipeline or both", "neither of them")
        return
    if split.pipeline is not None and len(split.pipeline) < 2:
        yield Problem((*path, "pipeline"), "the layers of at least two stages, such as [20, 28]")
        return
    if boxes >= 2 and split.ranks % boxes:
        told = (
            f"tensor_parallel {split.tensor_parallel or 1} x {len(split.pipeline or (0,))} stages, {split.ranks} cards"
        )
        key = "pipeline" if split.tensor_parallel is None else "tensor_parallel"
        yield Problem((*path, key), f"what makes a multiple of {boxes}: each box has as many of the cards", told)
    if split.master_port in _EPHEMERAL:
        write = f"a port below {_EPHEMERAL.start}: the kernel may give this one to anybody"
        yield Problem((*path, "master_port"), write, warning=True)


def _parts(split: Split, path: KeyPath) -> Iterator[Problem]:
    boxes = [part.box for part in split.parts]
    for index, box in enumerate(boxes):
        where = (*path, "parts", index, "box")
        if box not in split.boxes:
            yield Problem(where, f"one of the split's boxes ({', '.join(split.boxes)})", box)
        elif box in boxes[:index]:
            yield Problem(where, "each box once", f"{box} for the second time")


def _fabric(config: Config, name: str, split: Split) -> Iterator[Problem]:
    """The ranks meet on it, and each must be told its interface and its own address there."""
    known = [(box, config.boxes[box]) for box in dict.fromkeys(split.boxes) if box in config.boxes]
    managed = [(box, found) for box, found in known if found.managed]
    for box, found in managed:
        if found.fabric is None:
            write = f"{{interface: …, address: …}}, its link to the other boxes of {name}"
            yield Problem(("boxes", box, "fabric"), write, "nothing")
        elif ipaddress.ip_address(found.fabric.address).is_loopback:
            yield Problem(("boxes", box, "fabric", "address"), "the address by which the other boxes reach it")
    yield from _families(name, managed)


def _families(name: str, boxes: list[tuple[str, Box]]) -> Iterator[Problem]:
    linked = [(box, ipaddress.ip_address(found.fabric.address)) for box, found in boxes if found.fabric]
    for box, address in linked[1:]:
        first, other = linked[0]
        if address.version != other.version:
            write = f"an address in one network with {first}'s, {other}: both serve {name}"
            yield Problem(("boxes", box, "fabric", "address"), write)


def _model(name: str, model: Model, split: Split, path: KeyPath) -> Iterator[Problem]:
    if model.engine != "vllm":
        yield Problem(path, _ELSE[model.engine], f"a split of {model.engine}")
        return
    if not model.replicas:  # else the copies ask for it
        if not (split.source or model.source):
            write = "the folder with the weights, such as /models/flagship"
            yield Problem(("models", name, "source"), write, "nothing")
        if not (split.runtime or model.runtime):
            write = "how the engine is started, such as {kind: docker, image: …} or {kind: native, command: …}"
            yield Problem(("models", name, "runtime"), write, "nothing")
    places: tuple[tuple[KeyPath, Args, Env], ...] = (
        (("models", name), model.args, model.env),
        (path, split.args, split.env),
    )
    for where, args, env in places:
        for flag in _TENSOR:
            if args.get(flag) is not None:
                yield Problem((*where, "args", flag), "nothing here (it follows from split)")
        for variable in _VARIABLES:
            if variable in env:
                yield Problem((*where, "env", variable), "nothing here (it follows from split)")


_ELSE = {
    "llamacpp": "replicas: the makers of llama.cpp call its split over boxes fragile, insecure and never to be used on "
    "an open network; a model that needs several boxes is vLLM's",
    "ollama": "replicas: Ollama has no split over boxes; a model that needs several boxes is vLLM's",
}
