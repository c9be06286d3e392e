"""The address that the proxies share: keepalived's configuration, the unit that runs it, and what its start asks.

It is held by one proxy box at a time and taken by another when nginx does not answer there any more, or the box is
gone. Who serves a model plays no part in it: a pool, full or empty, is the same on every proxy box.
"""

from __future__ import annotations

import ipaddress
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from floor.box import paths
from floor.config import hosts
from floor.config.model import Config
from floor.desired import routes
from floor.desired.front import Front
from floor.desired.leave import status_url
from floor.desired.services import STOP_SLACK
from floor.desired.state import BoxFacts, File, Kind, Launch, Network, Unit
from floor.render import template

KEEPALIVED = "/usr/sbin/keepalived"
UNIT = "floor-address.service"
CHECK = paths.KEEPALIVED / "nginx-answers"
UNKNOWN = "eth0"  # the interface of a box of which nothing is known, as in `floor render`
PRIORITY = 200  # of the first proxy box; each after it one less. It decides only who stays when two held the address
VRIDS = 255  # virtual router ids are 1 to 255 (RFC 5798)


@dataclass(frozen=True)
class Place:
    """Where a box can hold the shared address: the interface, and the box's own address in that network."""

    interface: str
    own: str


def place(shared: str, host: str | None, networks: Sequence[Network]) -> Place | None:
    """Given the shared address, what the box's host resolved to and the networks that it is in, return the place in
    the narrowest one that holds the address; None where none does. The host's own address goes before others there."""
    ip = ipaddress.ip_address(shared)
    found = [one for one in networks if one.address != hosts.normal(shared) and ip in _network(one)]
    best = min(found, key=lambda one: (-one.prefix, one.address != host, one.address), default=None)
    return Place(best.interface, best.address) if best else None


def router_id(shared: str) -> int:
    """Given the shared address, return the virtual router id: addresses next to each other differ."""
    return int(ipaddress.ip_address(shared)) % VRIDS + 1


def address(
    config: Config, box: str, boxes: Mapping[str, BoxFacts], fronts: Sequence[Front]
) -> tuple[Unit, list[File]] | None:
    """Given the config, a proxy box, what is known of all boxes and the models as proxies see them, return the unit
    that holds the shared address and its files; None where there is no such address, or nothing to listen for."""
    shared = config.proxy.address
    if shared is None or not fronts:
        return None
    host, facts = _host(config, box, boxes), boxes.get(box, BoxFacts(None))
    here = place(shared, host, facts.networks) or Place(UNKNOWN, host)
    others = [name for name in config.proxy.boxes if name != box]
    peers = {name: _own(config, name, boxes) for name in others}
    values: dict[str, object] = {
        "box": box,
        "shared": shared,
        "prefix": ipaddress.ip_address(shared).max_prefixlen,
        "place": here,
        "peers": sorted(set(peers.values())),
        "router_id": router_id(shared),
        "priority": PRIORITY - config.proxy.boxes.index(box),
        "user": facts.nginx_user,
        "check": CHECK,
        "port": fronts[0].listen,
        "health": routes.HEALTH,
    }
    conf = File(str(paths.KEEPALIVED_CONF), template("keepalived/keepalived.conf.j2", **values))
    check = File(str(CHECK), template("keepalived/nginx-answers.j2", **values), 0o755)
    settings = {
        "address": shared,
        "interface": here.interface,
        "own": here.own,
        "status_key_file": str(paths.STATUS_KEY),
        "peers": [
            {"box": name, "address": own, "status_url": status_url(config, name, boxes)} for name, own in peers.items()
        ],
        "within": max(front.request_time for front in fronts),
    }
    asked = File(str(paths.ADDRESS_SETTINGS), json.dumps(settings, indent=1, sort_keys=True) + "\n")
    unit = _unit()
    stop = math.ceil(max(front.request_time for front in fronts)) + STOP_SLACK
    text = template("systemd/floor-address.service.j2", **_commands(), launch=unit.launch, stop=stop)
    return unit, [conf, check, asked, File(str(paths.UNITS / UNIT), text)]


def _unit() -> Unit:
    run = [f"--pid={paths.ADDRESS_RUN}/keepalived.pid", f"--vrrp_pid={paths.ADDRESS_RUN}/vrrp.pid"]
    told = (KEEPALIVED, "--dont-fork", "--log-console", "--vrrp", f"--use-file={paths.KEEPALIVED_CONF}", *run)
    # A keepalived that others run on the box is left alone: this one has its own files, and no settings of theirs.
    return Unit(UNIT, Kind.ADDRESS, Launch(told), reload_on=(str(paths.KEEPALIVED_CONF),))


def _commands() -> dict[str, object]:
    ask = [str(paths.PYTHON), "-I", "-m", "floor.agent.address"]
    return {
        "free": [*ask, "free"],
        "leave": [*ask, "leave"],
        "gone": [*ask, "gone"],
        "note": ["/bin/cp", str(paths.KEEPALIVED_CONF), str(paths.ADDRESS_READ)],
    }


def _own(config: Config, box: str, boxes: Mapping[str, BoxFacts]) -> str:
    """The address of a box in the network of the shared one; its host's where that is not known."""
    host = _host(config, box, boxes)
    there = place(str(config.proxy.address), host, boxes.get(box, BoxFacts(None)).networks)
    return there.own if there else host


def _host(config: Config, box: str, boxes: Mapping[str, BoxFacts]) -> str:
    return boxes.get(box, BoxFacts(None)).address or config.boxes[box].host


def _network(one: Network) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_interface(f"{one.address}/{one.prefix}").network
