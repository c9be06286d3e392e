"""What would make an operation fail halfway, found before anything stops."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from typing import Any

from floor.box import paths
from floor.box.weights import folder_of
from floor.desired.state import BoxState, Kind
from floor.engines.known import ENGINES
from floor.plan import firewalls
from floor.plan.aim import Aim, Wanted, check_params
from floor.plan.difference import belongs_to
from floor.plan.seen import Seen
from floor.sizes import told_size


def problems(aim: Aim, told: Collection[tuple[str, int]] = ()) -> list[str]:
    """Given the aim of a deployment, return a line for each thing that is lacking: `BOX: found; what to do`.

    Who holds the ports in `told`, of that box, has been told already.
    """
    found = [*_addresses(aim), *firewalls.problems(aim)]
    for box, seen in aim.seen.items():
        found += _programs(seen, aim.wanted[box])
        found += _ports(aim, seen, told)
    for copy in (part for each in aim.copies for part in each.each()):
        found += _copy(copy, aim.seen[copy.box], told)
    for group in (each for each in aim.copies if each.grouped):
        found += _meeting(aim, group, aim.seen[group.box], told)
    return found


def restart_problems(aim: Aim, backends: Collection[str]) -> list[str]:
    """Given the aim and the backends to restart, return one line for each thing that stands against it."""
    chosen = [copy for copy in aim.copies if copy.backend in backends]
    found = [
        f"{copy.box}: {copy.backend} is not deployed there yet; run `floor deploy`"
        for copy in (part for each in chosen for part in each.each())
        if aim.seen[copy.box].files.get(str(paths.UNITS / copy.unit)) is None
    ]
    return found + [
        f"{seen.box}: nginx serves there and floor-pool does not run, so nothing can be drained; run `floor deploy`"
        for seen in aim.proxies
        if chosen and seen.unit("floor-proxy.service").running and not seen.unit("floor-pool.service").running
    ]


def _addresses(aim: Aim) -> list[str]:
    """An engine and its proxies must be told one and the same address, of which a name may have lost the right one."""
    found = []
    several = any(not _loopback(address) for address in aim.addresses.values() if address)
    for box in aim.seen:
        host, address = aim.config.boxes[box].host, aim.addresses.get(box)
        if address is None:
            found.append(f"{box}: {host} has no address now; write its IP address as `host`, or mend the name service")
        elif several and _loopback(address):
            found.append(f"{box}: {host} means {address} here, which other boxes cannot reach; write its IP address")
    return found


def _loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _programs(seen: Seen, state: BoxState) -> list[str]:
    found = []
    if any(unit.kind is Kind.PROXY for unit in state.units) and not seen.facts.get("nginx"):
        found.append(f"{seen.box}: nginx is not installed; run `floor setup {seen.box}`")
    if any(unit.launch.image for unit in state.units) and not seen.facts.get("docker"):
        said = seen.facts.get("docker_error")
        what = f"docker does not answer ({said})" if said else "docker is not installed"
        found.append(f"{seen.box}: {what}; see to it, or write `runtime: {{kind: native, …}}`")
    return found


def _ports(aim: Aim, seen: Seen, told: Collection[tuple[str, int]]) -> list[str]:
    """The ports of the proxy and of the status port, where another program holds them."""
    wanted = {aim.config.boxes[seen.box].status_port: ("the status port", "floor.agent.status", "status_port")}
    if seen.box in aim.config.proxy.boxes:
        for model in aim.config.models:
            wanted[aim.config.listen(model)] = (f"the proxy's port of {model}", str(paths.NGINX_CONF), "listen")
    return [
        _held(seen, port, what, option)
        for port, (what, ours, option) in wanted.items()
        if (seen.box, port) not in told
        and (holder := seen.listening.get(str(port)))
        and ours not in str(holder.get("command"))
    ]


def _copy(copy: Wanted, seen: Seen, told: Collection[tuple[str, int]]) -> list[str]:
    wanted, image = copy.resolved, copy.state.launch.image
    found = []
    if image and seen.facts.get("docker") and not seen.images.get(image):
        found.append(f"{seen.box}: there is no image {image}; run `floor fetch {copy.model}`")
    if wanted.source.startswith("/") and seen.paths.get(wanted.source) is False:
        found.append(f"{seen.box}: there is no {wanted.source} ({copy.backend}); {_bring(copy, seen)}")
    elif any(seen.paths.get(path) is False for path in ENGINES[wanted.engine].needs(wanted.source, copy.model)):
        found.append(
            f"{seen.box}: {wanted.source} holds no model named {copy.model} ({copy.backend}); give one of those that "
            f"it holds this name: OLLAMA_MODELS={wanted.source} ollama serve, and beside it ollama cp TAG {copy.model}"
        )
    elif why := _unfit(copy, seen):
        found.append(f"{seen.box}: {_folder(copy)} {why} ({copy.backend})")
    holder = seen.listening.get(str(wanted.port))
    if holder and (seen.box, wanted.port) not in told and not _own(copy, seen, holder):
        found.append(_held(seen, wanted.port, f"the port of {copy.backend}", "port"))
    return found


def _meeting(aim: Aim, group: Wanted, seen: Seen, told: Collection[tuple[str, int]]) -> list[str]:
    """The port where the ranks of a group meet, at its head, where another program holds it."""
    split = aim.config.models[group.model].split
    holder = seen.listening.get(str(split.master_port)) if split else None
    if split is None or holder is None or (seen.box, split.master_port) in told:
        return []
    if seen.unit(group.unit).running or holder.get("pid") in seen.unit(group.unit).left:
        return []  # its own ranks: they go before others meet
    return [_held(seen, split.master_port, f"where the ranks of {group.model} meet", "master_port")]


def _bring(copy: Wanted, seen: Seen) -> str:
    """How weights come to a box that has none of them, or not all."""
    if copy.resolved.fetch is None:
        return "copy the weights there, or write `fetch` and run `floor fetch`"
    come = seen.weights.get(_folder(copy), {}).get("partial")
    return f"run `floor fetch {copy.model}`" + (f", which goes on from {told_size(come)}" if come else "")


def _folder(copy: Wanted) -> str:
    """Where the weights of a copy are fetched into."""
    fetch = copy.resolved.fetch
    return folder_of(copy.resolved.source, fetch.include if fetch else ())


def _unfit(copy: Wanted, seen: Seen) -> str:
    """What is wrong with weights that are there, empty where nothing is known against them."""
    fetch, known = copy.resolved.fetch, seen.weights.get(_folder(copy), {})
    if fetch is None:
        return ""
    if known.get("incomplete"):
        return f"is not whole, {known['incomplete']}; run `floor fetch {copy.model}`"
    origin = known.get("origin")
    if origin and (origin["repo"], origin["revision"]) != (fetch.repo, fetch.revision):
        return (
            f"holds {origin['repo']} at {origin['revision'][:12]}, floor.yaml says {fetch.repo} at "
            f"{fetch.revision[:12]}; write another `source` for that, and run `floor fetch {copy.model}`"
        )
    return ""


def _own(copy: Wanted, seen: Seen, holder: Mapping[str, Any]) -> bool:
    """Whether what holds the port is the copy itself, or what a former run of it has left: both go before it starts."""
    unit = seen.unit(copy.unit)
    there = str(copy.check.get("url", "")).endswith(f":{copy.resolved.port}")
    own = there and (unit.running or unit.image is not None or holder.get("pid") in unit.left)
    return own or _leaving(copy, seen)


def _leaving(copy: Wanted, seen: Seen) -> bool:
    """Whether another copy of floor's runs at that port: with none wanted there it goes before this one starts."""
    others = {unit: text for path, text in seen.texts.items() if (unit := belongs_to(path)) not in (None, copy.unit)}
    at = f":{copy.resolved.port}"
    return any(
        seen.unit(str(unit)).running and str(check_params(text).get("url", "")).endswith(at)
        for unit, text in others.items()
    )


def _held(seen: Seen, port: int, what: str, option: str) -> str:
    holder = seen.listening[str(port)]
    return (
        f"{seen.box}: port {port}, {what}, is held by {holder.get('command') or 'a process that does not tell'} "
        f"(pid {holder.get('pid')}); stop it, or write another `{option}`"
    )
