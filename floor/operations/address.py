"""Asks the proxy boxes, before anything is changed, whether somebody else has the address that they are to share."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from floor.box import paths
from floor.errors import BoxError
from floor.operations.site import Site
from floor.plan.aim import Aim


def address_refusals(site: Site, aim: Aim) -> list[str]:
    """Given the aim, return a line for each proxy box in whose network a stranger has the shared address."""
    asked = {seen.box: told for seen in aim.proxies if (told := _settings(aim, seen.box))}
    found = site.together([partial(_strangers, site, box, told) for box, told in asked.items()])
    lines = []
    for box, answer in zip(asked, found, strict=True):
        if isinstance(answer, BaseException) and not isinstance(answer, BoxError):
            raise answer
        if isinstance(answer, BoxError):
            lines.append(str(answer))
        elif answer:
            lines.append(
                f"{box}: {asked[box]['address']} is taken: {', '.join(answer)} on {asked[box]['interface']} answers "
                "for it and is no proxy of floor's; take it from there, or write another `address`"
            )
    return lines


def _settings(aim: Aim, box: str) -> dict[str, Any] | None:
    file = aim.wanted[box].file(str(paths.ADDRESS_SETTINGS))
    return json.loads(file.text) if file else None


def _strangers(site: Site, box: str, told: dict[str, Any]) -> list[str]:
    asked = {key: told[key] for key in ("address", "interface")}
    peers = [peer["address"] for peer in told["peers"]]
    answer = site.boxes[box].call("address.look", {**asked, "peers": peers})
    return list(answer["strangers"])
