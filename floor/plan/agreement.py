"""Whether the boxes of a split model are of one mind: link, engine, image, weights. Pure.

Ranks of different builds fail late and say little: at the rendezvous, or with wrong tokens. So what differs is named
before anything stops.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floor.box.fabric import NO_ANSWER, reached
from floor.config.boxes import Fabric

Told = Mapping[str, Any]
NAMED = 3  # files that a line names; the rest is counted
EPHEMERAL = range(32768, 61000)  # the kernel's own range, from which ranks take what else they need


@dataclass(frozen=True)
class Group:
    """A split model as it is to start: its boxes with their fabric, the head first, and what all must have alike.

    `image` is a docker reference, None for a program of the box; `source` the folder of the weights.
    """

    model: str
    fabric: Mapping[str, Fabric]
    master_port: int
    tensor: int
    stages: tuple[int, ...]
    source: str
    image: str | None
    fetched: bool = False

    @property
    def boxes(self) -> tuple[str, ...]:
        return tuple(self.fabric)


def links(group: Group, looks: Mapping[str, Told]) -> list[str]:
    """Given a group and what `fabric.look` told of each box, return a line for each link that could not carry it."""
    found = [line for box in looks for line in _link(group, box, looks[box])]
    sizes = {box: look["link"].get("mtu") for box, look in looks.items() if look["link"].get("mtu")}
    if not found and len(set(sizes.values())) > 1:
        told = ", ".join(f"{size} on {box}" for box, size in sizes.items())
        found.append(
            f"{group.model}: the MTU of the fabric is not one ({told}): large packets would get lost; give the "
            "interfaces the same, such as `ip link set INTERFACE mtu 9000`, and keep it over a reboot"
        )
    return found


def _link(group: Group, box: str, look: Told) -> list[str]:
    fabric, link = group.fabric[box], look["link"]
    where = f"boxes.{box}.fabric"
    if not link["there"]:
        others = ", ".join(link["others"]) or "none"
        return [f"{box}: there is no interface {fabric.interface} ({where}.interface); it has {others}"]
    networks = [ipaddress.ip_interface(one) for one in link["addresses"]]
    own = next((one for one in networks if one.ip == ipaddress.ip_address(fabric.address)), None)
    found = []
    if link["up"] is False:
        found.append(f"{box}: {fabric.interface} is down; see to its cable, or try: ip link set {fabric.interface} up")
    if own is None:
        has = ", ".join(str(one.ip) for one in networks) or "no address"
        found.append(
            f"{box}: {fabric.interface} has {has}, not {fabric.address} ({where}.address); give it that one, or write "
            "the one that it has"
        )
    else:
        found += [
            f"{box}: {fabric.address} is in {own.network}, where {other.address} of {name} is not; give both an "
            "address of one network on their link"
            for name, other in group.fabric.items()
            if name != box and ipaddress.ip_address(other.address) not in own.network
        ]
    return found + _devices(box, fabric, look["devices"])


def _devices(box: str, fabric: Fabric, there: Told) -> list[str]:
    found = []
    for name in fabric.hca:
        if name not in there:
            has = ", ".join(there) or "none"
            found.append(f"{box}: there is no RDMA device {name} (boxes.{box}.fabric.hca); it has {has}")
        elif there[name]["state"] not in ("ACTIVE", "unknown"):
            found.append(f"{box}: RDMA device {name} is {there[name]['state']}, not ACTIVE; see to its cable")
    return found


def meetings(group: Group, told: Mapping[str, Told], ports: Sequence[int], unsettled: Iterable[str] = ()) -> list[str]:
    """Given a group, what `fabric.meet` told of each box and the ports that were tried (the ranks' own, and one that
    stands for all of the kernel's), return a line for each way that was not gone.

    `unsettled` are boxes whose rules are to become others before ranks start: silence of theirs proves nothing.
    """
    found = []
    for box, answer in told.items():
        for other in (name for name in group.boxes if name != box and name in told):
            address, held = group.fabric[other].address, told[other].get("held") or {}
            free = [port for port in ports if str(port) not in held]
            shut = {port: why for port in free if (why := reached(answer, address, port))}
            told_of = {port: why for port, why in shut.items() if not (why == NO_ANSWER and other in unsettled)}
            if told_of:
                found.append(_closed(group, box, other, told_of))
            if free and not shut:
                found += _stranger(group, box, other, told[other])
    return found


def _closed(group: Group, box: str, other: str, shut: Mapping[int, str]) -> str:
    kernels = f"{EPHEMERAL.start}-{EPHEMERAL.stop - 1}, which the ranks take more of"
    ports = [f"{port}, where the ranks meet" if port == group.master_port else f"{port} of {kernels}" for port in shut]
    why = " and ".join(dict.fromkeys(shut.values()))
    return (
        f"{box}: does not reach {other} at {group.fabric[other].address} on the fabric, port {', and '.join(ports)}: "
        f"{why}; see to the link, and to a firewall on {other} that is not floor's"
    )


def _stranger(group: Group, box: str, other: str, answer: Told) -> list[str]:
    """Rules hold addresses: whoever comes by another one than the config says is kept out."""
    own = group.fabric[box].address
    heard = [str(one) for one in answer.get("heard") or ()]
    if own in heard or not heard:
        return []
    return [f"{box}: comes to {other} as {', '.join(heard)}, not as {own} (boxes.{box}.fabric.address); is it NAT?"]


def builds(group: Group, looks: Mapping[str, Told], images: Mapping[str, str | None]) -> list[str]:
    """Given a group, what `fabric.look` told of each box and the id of its image there, return a line for each thing
    that its boxes do not have alike."""
    found: list[str] = []
    if group.image is None:
        versions = {box: look["version"] for box, look in looks.items() if look["version"]}
        found += _differ(group, "vLLM is not the same", versions, "install one release on all of them")
    elif "@sha256:" not in group.image:
        ids = {box: (images.get(box) or "none")[:19] for box in looks}
        do = f"name it by its digest, or bring the same to all: `floor fetch {group.model}`"
        found += _differ(group, f"{group.image} is not the same image", ids, do)
    return found + _weights(group, {box: look["weights"] for box, look in looks.items()})


def _differ(group: Group, what: str, values: Mapping[str, str], do: str) -> list[str]:
    if len(set(values.values())) < 2:
        return []
    told = ", ".join(f"{value} on {box}" for box, value in values.items())
    return [f"{group.model}: {what} on its boxes ({told}); {do}"]


def _weights(group: Group, told: Mapping[str, Told]) -> list[str]:
    same = f"run `floor fetch {group.model}`" if group.fetched else "copy the folder from one to the others"
    digests = {box: one["digest"] for box, one in told.items()}
    known = all(digests.values())
    if known and len(set(digests.values())) < 2:  # none where no box has any
        return _shape(group, told)
    names = list(dict.fromkeys(path for one in told.values() for path in one["files"]))
    odd = [path for path in names if len({_mark(one, path) for one in told.values()}) > 1]
    if not odd and known:
        odd = ["the contents of its files, as its manifests say"]
    if not odd:
        return _shape(group, told)
    more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    first = ", ".join(f"{_said(one, odd[0])} on {box}" for box, one in told.items())
    which = ", ".join(odd[:NAMED]) + more
    return [f"{group.model}: {group.source} differs between its boxes: {which} ({first}); {same}"]


def _mark(one: Told, path: str) -> object:
    return one["small"].get(path, one["files"].get(path))


def _said(one: Told, path: str) -> str:
    if path in one["small"]:
        return f"sha256 {one['small'][path][:12]}"
    if path in one["files"]:
        return f"{one['files'][path]} bytes"
    return f"manifest {one['digest'][:12]}" if one["digest"] and " " in path else "none"


def _shape(group: Group, told: Mapping[str, Told]) -> list[str]:
    """What the ranks would refuse when they have met: layers that do not add up, heads that cannot be shared."""
    config: Told = next((one["config"] for one in told.values() if one["config"]), {})
    found = []
    layers, heads = config.get("layers"), config.get("heads")
    if group.stages and layers and sum(group.stages) != layers:
        found.append(
            f"{group.model}: split.pipeline has {_sum(group.stages)} layers, {group.source}/config.json says {layers}; "
            f"write stages of {layers} in all"
        )
    if heads and heads % group.tensor:
        found.append(
            f"{group.model}: {heads} attention heads ({group.source}/config.json) cannot be shared by tensor_parallel "
            f"{group.tensor}; write a number that divides them"
        )
    return found


def _sum(stages: Sequence[int]) -> str:
    return f"{' + '.join(map(str, stages))} = {sum(stages)}"


def spare_port(listening: Iterable[Mapping[str, Any]], taken: Callable[[int], bool] = lambda _: False) -> int:
    """Given who listens on the ports of each box, return a port of the kernel's range that is free on all of them."""
    busy = [set(one) for one in listening]
    free = (port for port in reversed(EPHEMERAL) if not taken(port) and not any(str(port) in one for one in busy))
    return next(free, EPHEMERAL.stop - 1)
