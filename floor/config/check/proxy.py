"""Proxy: where nginx runs, and what it passes on."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config import hosts
from floor.config.check import parts
from floor.config.model import Config
from floor.config.problem import Problem

RESERVED = ("engine", "status", "floor")  # the keys of engines and status ports, and the one that verify asks with
_BYTES_PER_TOKEN = 8  # of a request's JSON: about four letters, some of them several bytes or escaped
_SMALLEST_BODY = 2**20


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its proxy."""
    proxy = config.proxy
    if not proxy.boxes:
        yield Problem(("proxy", "boxes"), "at least one box that floor manages", "no box")
    yield from parts.references(config, proxy.boxes, ("proxy", "boxes"), managed=True)
    yield from _address(config)
    for name, box in config.boxes.items():
        if proxy.address and hosts.normal(box.host) == hosts.normal(proxy.address):
            write = "an address that no box has, or leave it out"
            yield Problem(("proxy", "address"), write, f"{proxy.address}, the host of box {name}")
    yield from _clients(proxy.clients)
    yield from _body(config)


def _address(config: Config) -> Iterator[Problem]:
    """The address that the proxies share: one of a network, nobody's own, and for more than one of them."""
    shared, path = config.proxy.address, ("proxy", "address")
    if shared is None:
        return
    ip = hosts.literal(shared)
    if ip is not None and (ip.is_loopback or ip.is_link_local):
        yield Problem(path, "an address of the network that clients come from", shared)
    for name, box in config.boxes.items():
        if box.fabric and hosts.normal(box.fabric.address) == hosts.normal(shared):
            yield Problem(path, "an address that no box has, or leave it out", f"{shared}, the fabric of box {name}")
    if len(config.proxy.boxes) == 1:
        write = f"a second box in proxy.boxes: with {config.proxy.boxes[0]} alone nobody takes the address over"
        yield Problem(path, write, shared, warning=True)


def _clients(names: list[str]) -> Iterator[Problem]:
    for index, name in enumerate(names):
        path = ("proxy", "clients", index)
        if name in RESERVED:
            yield Problem(path, "another name", f"{name}, a key of floor's own")
        elif name in names[:index]:
            yield Problem(path, "each client once", f"{name} for the second time")


def _body(config: Config) -> Iterator[Problem]:
    body, path = config.proxy.max_body, ("proxy", "max_body")
    if body < _SMALLEST_BODY:
        yield Problem(path, "at least 1MiB: long prompts and images are requests of that size")
        return
    for name, model in config.models.items():
        need = (model.context or 0) * _BYTES_PER_TOKEN
        if body < need:
            write = f"{-(-need // 2**20)}MiB or more: prompts of {name} can fill {model.context} tokens"
            yield Problem(path, write, warning=True)
