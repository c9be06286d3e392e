"""Who may reach the engines and the status port of a box: a table of nftables, and the unit that loads it.

Engines are for the proxies (and `proxy.allow`), the status port is for the boxes, metrics for them and `metrics.allow`,
the ports of a split model's ranks are for its boxes on the fabric. Everything else on a box is nobody's business here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from floor.box import paths
from floor.config.hosts import literal
from floor.config.model import Config, Split
from floor.desired.state import BoxFacts, File, Kind, Launch, Unit
from floor.render import template

NFT = "/usr/sbin/nft"
UNIT = "floor-firewall.service"
LOAD = (NFT, "-f", str(paths.FIREWALL))
UNLOAD = (NFT, "delete", "table", "inet", "floor")
# Before an engine starts: the rules are there, or are loaded now. Somebody may have emptied the whole rule set.
_ENSURE = f"{NFT} list table inet floor >/dev/null 2>&1 || exec {' '.join(LOAD)}"
ENSURE = ("/bin/sh", "-c", _ENSURE)

# Linux's net.ipv4.ip_local_port_range by default. NCCL, gloo and vLLM's message queues listen on ports that the kernel
# gives them from it; none of the three takes a range of its own.
EPHEMERAL = "32768-60999"
_FAMILY = {4: "ip", 6: "ip6"}
Admitted = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Extra:
    """What must be admitted and guarded besides, while a deployment is under way: boxes that are still proxies, and
    ports of engines that still run; `open` while somebody else's engine has a port that is to be a copy's: whoever asks
    it goes on until it is taken over."""

    proxies: frozenset[str] = frozenset()
    ports: frozenset[int] = frozenset()
    open: bool = False


NOTHING = Extra()


@dataclass(frozen=True)
class _Split:
    """Ports of one split model on one box. `address` is empty where the fabric is the network that all else uses."""

    model: str
    port: int
    family: str
    address: str
    ephemeral: str
    peers: Admitted


def unit() -> tuple[Unit, list[File]]:
    """Return the unit that loads the rules, and its file."""
    text = template("systemd/floor-firewall.service.j2", load=LOAD, unload=UNLOAD)
    return Unit(UNIT, Kind.FIREWALL, Launch(()), reload_on=(str(paths.FIREWALL),)), [
        File(str(paths.UNITS / UNIT), text)
    ]


def rules(config: Config, box: str, boxes: Mapping[str, BoxFacts], extra: Extra = NOTHING) -> File:
    """Given the config, a box and what is known of all boxes, return the file of its rules.

    A box without a known address is admitted nowhere: rules hold addresses, never names.
    """
    proxies = _senders(config, {*config.proxy.boxes, *extra.proxies, *_workers(config, box)}, box, boxes)
    engines = (one for model in config.models for one in (*config.copies(model), *config.parts(model)))
    ports = {one.port for one in engines if one.box == box} | extra.ports
    others = _senders(config, [name for name, found in config.boxes.items() if found.managed], box, boxes)
    text = template(
        "nftables/firewall.nft.j2",
        box=box,
        engine_ports=sorted(ports),
        status_port=config.boxes[box].status_port,
        engines=[*_admitted(proxies), *_admitted(frozenset(config.proxy.allow))],
        boxes=_admitted(others | _fabrics(config, box)),
        metrics_port=config.metrics.listen,
        readers=() if config.metrics.listen is None else _admitted(others | frozenset(config.metrics.allow)),
        splits=_splits(config, box, boxes),
        deny=config.proxy.direct == "deny" and not extra.open,
    )
    return File(str(paths.FIREWALL), text)


def _workers(config: Config, box: str) -> set[str]:
    """The other boxes of the groups whose head is here: a part that leaves asks whether the head's engine is idle."""
    splits = (model.split for model in config.models.values() if model.split is not None)
    return {name for split in splits if split.boxes[0] == box for name in split.boxes[1:]}


def _fabrics(config: Config, box: str) -> frozenset[str]:
    """The fabric addresses of the boxes that share a group with this one: parts ask each other from there."""
    splits = (model.split for model in config.models.values() if model.split is not None)
    names = {name for split in splits if box in split.boxes for name in split.boxes if name != box}
    return frozenset(fabric.address for name in names if (fabric := config.boxes[name].fabric))


def _senders(config: Config, names: Iterable[str], box: str, boxes: Mapping[str, BoxFacts]) -> frozenset[str]:
    """The addresses from which those boxes come to this one: their own, and that of the way there where it differs."""
    target = _address(config, box, boxes)
    found: set[str] = set()
    for name in names:
        own = _address(config, name, boxes)
        way = boxes[name].sources.get(target) if target and name in boxes else None
        found |= {address for address in (own, way) if address}
    return frozenset(found)


def _address(config: Config, box: str, boxes: Mapping[str, BoxFacts]) -> str | None:
    facts = boxes.get(box)
    if facts is not None:
        return facts.address
    host = config.boxes[box].host
    return host if literal(host) else None


@lru_cache(maxsize=256)  # of a fleet every box is told of the same ones
def _admitted(found: frozenset[str]) -> Admitted:
    """Addresses and networks by family, in order, none within another (nft refuses sets that overlap)."""
    networks = [ipaddress.ip_network(one.partition("%")[0]) for one in found]
    four = sorted({one for one in networks if isinstance(one, ipaddress.IPv4Network)})
    six = sorted({one for one in networks if isinstance(one, ipaddress.IPv6Network)})
    wide4 = [one for one in four if one.prefixlen < one.max_prefixlen]
    wide6 = [one for one in six if one.prefixlen < one.max_prefixlen]
    by_family = {
        4: [_text(one) for one in four if not any(one != other and one.subnet_of(other) for other in wide4)],
        6: [_text(one) for one in six if not any(one != other and one.subnet_of(other) for other in wide6)],
    }
    return tuple((_FAMILY[version], tuple(told)) for version, told in by_family.items() if told)


def _text(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> str:
    return str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def _splits(config: Config, box: str, boxes: Mapping[str, BoxFacts]) -> Sequence[_Split]:
    return [
        _split(config, name, box, model.split, boxes)
        for name, model in config.models.items()
        if model.split is not None and box in model.split.boxes
    ]


def _split(config: Config, model: str, box: str, split: Split, boxes: Mapping[str, BoxFacts]) -> _Split:
    """The head's port is guarded under every address (torch listens on all of them), what the kernel gives on the
    fabric's own address only: on a network that other programs share, their ports would be closed with it."""
    fabrics = [fabric.address for name in split.boxes if (fabric := config.boxes[name].fabric)]
    peers = fabrics or sorted(_senders(config, split.boxes, box, boxes))
    own = config.boxes[box].fabric
    apart = own is not None and own.address != _address(config, box, boxes)
    address = own.address if own is not None and apart else ""
    family = _FAMILY[ipaddress.ip_address(address).version] if address else ""
    return _Split(model, split.master_port, family, address, EPHEMERAL, _admitted(frozenset(peers)))
