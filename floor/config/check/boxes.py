"""Boxes: addresses that mean one machine each, and options that an unmanaged one cannot have."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config import hosts
from floor.config.boxes import LOCAL
from floor.config.model import Box, Config
from floor.config.problem import Problem

_OURS = ("ssh", "keep_free", "fabric", "status_port")


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its boxes."""
    if not config.boxes:
        yield Problem(("boxes",), "at least one box", "no box")
    if LOCAL in config.boxes:
        yield Problem(
            ("boxes", LOCAL), f"another name, with ssh: {LOCAL} below it", f"{LOCAL}, the word for this machine"
        )
    yield from _unmanaged(config)
    yield from _loopback(config)
    managed = {name: box for name, box in config.boxes.items() if box.managed}
    yield from _twice("host", {name: hosts.normal(box.host) for name, box in managed.items()})
    yield from _twice("ssh", {name: config.destination(name) for name in managed})
    yield from _twice("fabric", {n: hosts.normal(b.fabric.address) for n, b in managed.items() if b.fabric}, "address")


def _unmanaged(config: Config) -> Iterator[Problem]:
    for name, box in config.boxes.items():
        for key in _OURS:
            if not box.managed and key in box.model_fields_set:
                yield Problem(("boxes", name, key), "nothing here (floor never changes a box with managed: false)")


def _loopback(config: Config) -> Iterator[Problem]:
    """A box whose host means "myself" cannot be reached from the proxy of another one (ollama/ollama#560)."""
    for name, box in config.boxes.items():
        others = (proxy for proxy in config.proxy.boxes if proxy != name and _reaches(config.boxes.get(proxy)))
        if hosts.is_loopback(box.host) and (proxy := next(others, None)):
            write = f"the address by which the proxy on {proxy} reaches it"
            yield Problem(("boxes", name, "host"), write)


def _reaches(proxy: Box | None) -> bool:
    return proxy is not None and not hosts.is_loopback(proxy.host)


def _twice(key: str, values: dict[str, str], *below: str) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name, value in values.items():
        if value in first:
            yield Problem(("boxes", name, key, *below), "its own", f"{value}, which box {first[value]} has too")
        first.setdefault(value, name)
