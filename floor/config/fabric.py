"""Which of its links is the fabric of a box: what `floor init` proposes for `boxes.BOX.fabric`. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Link = Mapping[str, Any]  # as floor.box.links tells it
# The place of a card's port in an interface's name: enp1s0f1np1 and enP2p1s0f1np1 are f1np1 of two PCI domains.
_PORT = re.compile(r"^en(P\d+)?p\d+s\d+(f\d+(?:np\d+|d\d+)?)$")


def propose(boxes: Mapping[str, Sequence[Link]]) -> dict[str, dict[str, Any]]:
    """Given the links of some boxes, return {box: {interface, address, hca}} for those that share a link of their own.

    A fabric is another network than the one by which all else goes (the default route), on every box the same, and
    either has RDMA or is faster. One box alone has one where it has RDMA: the other end is not known then.
    """
    candidates = {box: list(_candidates(links)) for box, links in boxes.items()}
    if len(boxes) == 1:
        [(box, found)] = candidates.items()
        best = max((one for one in found if one[1]["devices"]), key=_rank, default=None)
        return {box: _fabric(best, boxes[box])} if best else {}
    networks = dict.fromkeys(network for network, *_ in _all(candidates))
    shared = [one for one in networks if sum(_on(found, one) for found in candidates.values()) > 1]
    if not shared:
        return {}
    network = max(shared, key=lambda one: min(_rank(c) for c in _all(candidates) if c[0] == one))
    return {
        box: _fabric(next(one for one in found if one[0] == network), boxes[box])
        for box, found in candidates.items()
        if _on(found, network)
    }


Candidate = tuple[str, Link, str]  # network, link, address


def _candidates(links: Sequence[Link]) -> Iterator[Candidate]:
    usual = max((link["speed"] or 0 for link in links if link["default"]), default=0)
    for link in links:
        faster = bool(usual) and (link["speed"] or 0) > usual
        if link["default"] or not (link["devices"] or faster):
            continue
        for address in link["addresses"]:
            found = ipaddress.ip_interface(address)
            yield str(found.network), link, str(found.ip)


def _all(candidates: Mapping[str, Sequence[Candidate]]) -> list[Candidate]:
    return [one for found in candidates.values() for one in found]


def _on(found: Sequence[Candidate], network: str) -> bool:
    return any(one[0] == network for one in found)


def _rank(one: Candidate) -> tuple[bool, int, bool, bool]:
    """RDMA before speed, IPv4 before IPv6, and the twin in the first PCI domain: people write its name."""
    _, link, address = one
    port = _PORT.match(link["interface"])
    return bool(link["devices"]), link["speed"] or 0, ":" not in address, not (port and port[1])


def _fabric(one: Candidate, links: Sequence[Link]) -> dict[str, Any]:
    _, link, address = one
    hca = sorted(
        {*link["devices"], *(device for twin in _twins(link, links) for device in twin["devices"])}, key=_order
    )
    return {"interface": link["interface"], "address": address, **({"hca": hca} if hca else {})}


def _twins(link: Link, links: Sequence[Link]) -> list[Link]:
    """The same port of the same card as another device: GB10 shows each port under two PCI domains (NCCL wants both,
    half the speed is lost without)."""
    port = _PORT.match(link["interface"])
    return [other for other in links if port and (twin := _PORT.match(other["interface"])) and twin[2] == port[2]]


def _order(device: str) -> tuple[bool, str]:
    return "P" in device, device
