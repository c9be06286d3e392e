"""Firewalls of other people: where one would keep proxies or clients out, and the rule that lets them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floor.plan.aim import Aim

EVERYBODY = "anybody"


def firewall_notes(aim: Aim) -> list[str]:
    """Given the aim, return a line for each firewall that drops what no rule lets in and lacks one for a port that
    others must reach there. floor adds none: whose table it is decides."""
    found = []
    for box, seen in aim.seen.items():
        needed = _needed(aim, box)
        for other in seen.firewalls:
            ports = {who: [port for port in ports if port not in other["ports"]] for who, ports in needed.items()}
            lacking = {who: ports for who, ports in ports.items() if ports}
            if lacking:
                name = other["by"] or f"the table {other['family']} {other['table']}"
                told = "; ".join(_told(other, who, ports) for who, ports in lacking.items())
                found.append(f"{box}: {name} drops what no rule of its own lets in: {told}")
    return found


def problems(aim: Aim) -> list[str]:
    """Given the aim, return a line for each box that cannot load rules at all."""
    return [
        f"{seen.box}: nftables is not installed, so nothing would guard its engines; run `floor setup {seen.box}`"
        for seen in aim.seen.values()
        if aim.wanted[seen.box].units and seen.firewall.get("installed") is False
    ]


def _needed(aim: Aim, box: str) -> dict[str, list[int]]:
    """The ports of a box by who must reach them."""
    found: dict[str, list[int]] = {}
    if box in aim.config.proxy.boxes:
        found[EVERYBODY] = sorted({aim.config.listen(model) for model in aim.config.models})
    proxies = [aim.addresses.get(name) for name in aim.config.proxy.boxes if name != box]
    senders = ", ".join(address for address in proxies if address)
    if senders and aim.wanted[box].units:
        ports = {copy.resolved.port for copy in aim.copies if copy.box == box}
        found[senders] = sorted({*ports, aim.config.boxes[box].status_port})
    return found


def _told(other: Mapping[str, Any], who: str, ports: Sequence[int]) -> str:
    numbers = ",".join(map(str, ports))
    words = "clients" if who == EVERYBODY else who
    return f"{words} must reach tcp {numbers.replace(',', ', ')}: `{_rule(other, who, numbers)}`"


def _rule(other: Mapping[str, Any], who: str, ports: str) -> str:
    senders = [] if who == EVERYBODY else who.split(", ")
    if other["by"] == "ufw":
        rules = [f"ufw allow proto tcp from {one} to any port {ports}" for one in senders or ["any"]]
    elif other["by"] == "firewalld" and senders:
        rules = [f"firewall-cmd --permanent --zone=trusted --add-source={one}" for one in senders]
    elif other["by"] == "firewalld":
        rules = [f"firewall-cmd --permanent --add-port={port}/tcp" for port in ports.split(",")]
    else:
        by_family = {family: [one for one in senders if (":" in one) == (family == "ip6")] for family in ("ip", "ip6")}
        saddrs = [f"{family} saddr {{ {', '.join(some)} }} " for family, some in by_family.items() if some]
        place = f"{other['family']} {other['table']} {other['chain']}"
        rules = [f"nft insert rule {place} {saddr}tcp dport {{ {ports} }} accept" for saddr in saddrs or [""]]
    return " && ".join(rules)
