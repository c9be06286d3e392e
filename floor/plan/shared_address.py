"""The address that the proxies share: what stands against it on a box, and who holds it now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floor.config.hosts import normal
from floor.config.model import Config
from floor.desired.keepalived import UNIT, place
from floor.plan.aim import Aim
from floor.plan.seen import Seen


def problems(aim: Aim) -> list[str]:
    """Given the aim, return a line for each proxy box that cannot hold the shared address, with what to do."""
    shared = aim.config.proxy.address
    if shared is None:
        return []
    return [line for seen in aim.proxies if (line := _problem(aim, seen, shared))]


def _problem(aim: Aim, seen: Seen, shared: str) -> str:
    if not seen.facts.get("keepalived"):
        return f"{seen.box}: keepalived is not installed; run `floor setup {seen.box}`"
    networks = aim.facts[seen.box].networks
    if place(shared, aim.addresses.get(seen.box), networks) is None:
        told = ", ".join(f"{one.interface} {one.address}/{one.prefix}" for one in networks) or "none"
        return f"{seen.box}: none of its networks holds {shared} ({told}); write an `address` that lies in one"
    if holds(seen.facts, shared) and not seen.unit(UNIT).running:
        return f"{seen.box}: has {shared} already, and not from floor; take it off there, or write another `address`"
    return ""


def holds(facts: Mapping[str, Any], shared: str) -> bool:
    """Given what a box told of itself, return whether it has the shared address now."""
    return normal(shared) in (facts.get("addresses") or ())


def warnings(config: Config, holders: Sequence[str], units: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Given the config, the boxes that hold the shared address and of each proxy box that answers its units, return
    what a person should see."""
    shared = config.proxy.address
    active = [box for box, there in units.items() if there.get(UNIT, {}).get("active") == "active"]
    if shared is None or not any(UNIT in there for there in units.values()):
        return []
    if len(holders) > 1:
        who = f"{' and '.join(holders)} both hold {shared}"
        return [f"{who}: they do not hear each other; look for what drops VRRP (IP protocol 112) between them"]
    down = [box for box in units if box not in active]
    found = [f"{box}: floor-address is not running, so it cannot take {shared} over" for box in down]
    away = len(units) < len(config.proxy.boxes)
    if not holders and not away:
        found.append(f"nobody holds {shared}: who uses it gets no answer; see `floor logs address`")
    return found
