"""`floor clients`: who is connected to engines, and who is there past the proxy."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from floor.config.hosts import netloc
from floor.config.model import Config, ResolvedCopy
from floor.errors import BoxError
from floor.operations.site import Site

PROXY_UNIT = "floor-proxy.service"
PROXY, CHECK, ALLOWED, PAST = "proxy", "check", "allowed", "past the proxy"


@dataclass(frozen=True)
class Engine:
    """An engine of a managed box: its backend, box, address and port."""

    backend: str
    box: str
    address: str
    port: int
    dialect: str


def clients(site: Site) -> dict[str, Any]:
    """Look at every box once. Return {"asked": [boxes that told], "connections": [{engine, box, address, who, kind,
    connections}], "turned_away": [{box, address, connections, done}], "refused": [{engine, requests}], "failed": [why
    the other boxes did not]}.

    `kind` is proxy, check (floor's own), allowed (proxy.allow) or "past the proxy". What a box that does not answer
    has connected is told by the address alone.
    """
    config = site.loaded.config
    addresses = {name: site.resolve(box.host) or box.host for name, box in config.boxes.items()}
    engines = list(_engines(config, addresses))
    asked = [netloc(one.address, one.port) for one in engines]

    def ask(box: str, transport: Any) -> Any:
        mine = [one for one in engines if one.box == box]
        pages = [f"http://{netloc(one.address, one.port)}/metrics" for one in mine if one.dialect == "vllm"]
        return transport.call(
            "connections.look", {"listen": [str(one.port) for one in mine], "engines": asked, "pages": pages}
        )

    answers = site.each(site.boxes, ask)
    told = {box: answer for box, answer in answers.items() if not isinstance(answer, BoxError)}
    return {
        "asked": list(told),
        "connections": sorted(_merged(_connections(config, engines, addresses, told)), key=_order),
        "turned_away": [
            {"box": box, **one, "done": "kept off" if config.proxy.direct == "deny" else "let through"}
            for box, answer in told.items()
            for one in answer["direct"]
        ],
        "refused": [
            {"engine": one.backend, "requests": told[one.box]["turned"].get(_page(one))}
            for one in engines
            if one.box in told and one.dialect == "vllm"
        ],
        "failed": [str(answer) for answer in answers.values() if isinstance(answer, BoxError)],
    }


def _page(engine: Engine) -> str:
    return f"http://{netloc(engine.address, engine.port)}/metrics"


def _engines(config: Config, addresses: Mapping[str, str]) -> Iterable[Engine]:
    """Those that floor runs: copies, and the heads of groups."""
    for model in config.models:
        every: list[ResolvedCopy] = [*config.copies(model), *config.parts(model)[:1]]
        for one in every:
            if one.managed:
                yield Engine(one.backend, one.box, addresses[one.box], one.port, one.engine)


def _connections(
    config: Config, engines: Iterable[Engine], addresses: Mapping[str, str], told: Mapping[str, Any]
) -> Iterable[dict[str, Any]]:
    engines = list(engines)
    by_place = {(_plain(one.address), one.port): one for one in engines}
    names = {_plain(address): name for name, address in addresses.items() if config.boxes[name].managed}
    for box, answer in told.items():
        for one in answer["go"]:
            engine = by_place[(one["address"], one["port"])]
            kind = PAST if not one["floors"] else PROXY if one["unit"] == PROXY_UNIT else CHECK
            program = one["unit"] or one["command"] or f"pid {one['pid']}"
            shown = program if one["floors"] else f"{one['command']} (pid {one['pid']}, {one['unit'] or 'no unit'})"
            yield _row(engine, box, f"{box}: {shown}", kind, one["connections"])
        for one in answer["come"]:
            engine_here = next(each for each in engines if each.box == box and each.port == one["port"])
            peer = names.get(one["address"])
            if _own(one["address"]) or peer in told:
                continue  # told by the program that holds the other end
            kind = CHECK if peer else ALLOWED if _allowed(config, one["address"]) else PAST
            yield _row(engine_here, one["address"], f"{peer or one['address']}", kind, one["connections"])


def _row(engine: Engine, address: str, who: str, kind: str, count: int) -> dict[str, Any]:
    return {
        "engine": engine.backend,
        "box": engine.box,
        "address": address,
        "who": who,
        "kind": kind,
        "connections": count,
    }


def _merged(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each engine and client; several processes of one service are one."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["engine"], row["who"], row["kind"])
        found[key] = {**row, "connections": row["connections"] + found.get(key, {"connections": 0})["connections"]}
    return list(found.values())


def _order(row: Mapping[str, Any]) -> tuple[bool, str, str]:
    return row["kind"] != PAST, str(row["engine"]), str(row["who"])


def _plain(address: str) -> str:
    """An address as boxes tell it: IPv6 has several spellings."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def _own(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _allowed(config: Config, address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    return any(found in ipaddress.ip_network(one) for one in config.proxy.allow)
