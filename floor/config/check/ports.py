"""Ports: each of a box's belongs to one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from floor.config.check import parts
from floor.config.model import Config
from floor.config.problem import KeyPath, Problem

_SSH = 22
_PRIVILEGED = 1024


@dataclass(frozen=True)
class _Port:
    path: KeyPath
    number: int
    owner: str
    modes: tuple[str, ...] = parts.MODES


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield each port that two would listen on, and those that an engine cannot have."""
    yield from _listens(config)
    told: set[KeyPath] = set()
    for name, box in config.boxes.items():
        for problem in _on(config, name) if box.managed else ():
            if problem.path not in told:
                yield problem
            told.add(problem.path)
    for placed in parts.copies(config):
        if placed.box.managed and placed.resolved.port < _PRIVILEGED:
            found = f"{placed.resolved.port}, which only root may listen on"
            yield Problem(placed.where("port"), "a port from 1024 to 65535", found)


def _listens(config: Config) -> Iterator[Problem]:
    """Until requests are routed by the model they name, a port of the proxy is a model's own."""
    first: dict[int, str] = {}
    for name in config.models:
        port = config.listen(name)
        if port in first:
            found = f"{port}, the proxy's port for {first[port]} too"
            yield Problem(("models", name, "listen"), "a port of its own for each model", found)
        first.setdefault(port, name)


def _on(config: Config, box: str) -> Iterator[Problem]:
    """What runs in different modes never meets."""
    taken: dict[tuple[str, int], _Port] = {}
    for port in _ports(config, box):
        places = [(mode, port.number) for mode in port.modes]
        if first := next((taken[place] for place in places if place in taken), None):
            yield Problem(port.path, "a port of its own", f"{port.number}, which {first.owner} has on {box}")
        for place in places:
            taken.setdefault(place, port)


def _ports(config: Config, box: str) -> Iterator[_Port]:
    yield _Port(("boxes", box), _SSH, "sshd")
    if box in config.proxy.boxes:
        yield from {
            config.listen(name): _Port(
                ("models", name, "listen") if model.listen else ("proxy", "listen"), config.listen(name), "the proxy"
            )
            for name, model in config.models.items()
        }.values()
    yield _Port(("boxes", box, "status_port"), config.boxes[box].status_port, "the status page")
    if config.metrics.listen is not None:
        yield _Port(("metrics", "listen"), config.metrics.listen, "the metrics page")
    for placed in parts.copies(config):
        if placed.copy.box == box:
            yield _Port(placed.where("port"), placed.resolved.port, f"the engine of {placed.name}", placed.modes)
    heads: set[str] = set()
    for part in parts.groups(config):
        if part.copy.box == box and part.name not in heads:
            yield _Port(("models", part.name, "port"), part.resolved.port, f"the engine of {part.name}", part.modes)
        if part.copy.box == box and part.model.split is not None:
            ranks = f"the group of {part.name}"
            yield _Port((*part.path, "master_port"), part.model.split.master_port, ranks, part.modes)
        heads.add(part.name)
