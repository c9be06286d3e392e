"""Containers of this machine, running or not, as far as they are engines or would come back by themselves."""

from __future__ import annotations

import json
from typing import Any

from floor.box.command import Run, run
from floor.box.foreign import hidden, known

# options of `docker run` that `docker inspect` tells: key of HostConfig -> flag
_LISTS = {"CapAdd": "--cap-add", "CapDrop": "--cap-drop", "SecurityOpt": "--security-opt", "ExtraHosts": "--add-host"}
_SIZES = {"Memory": "--memory", "CpuShares": "--cpu-shares"}
_TEXTS = {"CpusetCpus": "--cpuset-cpus", "CpusetMems": "--cpuset-mems"}


def listed(run: Run = run) -> list[dict[str, Any]]:
    """Return every container as `docker inspect` tells of it; none where docker is missing or silent."""
    ids = run(["docker", "ps", "--all", "--quiet", "--no-trunc"])
    wanted = ids.out.split() if ids.ok else []
    if not wanted:
        return []
    told = run(["docker", "container", "inspect", "--", *wanted])
    try:
        return list(json.loads(told.out or "[]"))
    except ValueError:
        return []


def names(containers: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Given containers, return their ids and names."""
    return [(one["Id"], one["Name"].lstrip("/")) for one in containers]


def told(one: dict[str, Any], run: Run = run) -> dict[str, Any]:
    """Given a container, return what it was started with: image, words, environment, mounts, network, restart policy.

    {name, image, digest, argv, engine, at, hidden, env, env_hidden, mounts: [{from, to, write, name}], network, ports:
    {inside: outside}, listens: [[outside, address of the box]], gpus, options, policy, auto_remove, running, pid,
    user}. Environment beside the image's own.
    """
    host, config = one["HostConfig"], one["Config"]
    image = _image(one["Image"], run)
    argv = [one["Path"], *one["Args"]]
    kind = known.engine(argv)
    shown, secret_flags = hidden.argv(argv)
    own = set(image.get("Config", {}).get("Env") or ())
    given = dict(word.split("=", 1) for word in config.get("Env") or () if "=" in word and word not in own)
    env, secret_names = hidden.environment(given)
    return {
        "name": one["Name"].lstrip("/"),
        "image": config["Image"],
        "digest": next(iter(image.get("RepoDigests") or ()), None),
        "argv": shown,
        "engine": kind[0] if kind else None,
        "at": kind[1] if kind else 0,
        "hidden": secret_flags,
        "env": env,
        "env_hidden": secret_names,
        "mounts": [_mount(mount) for mount in one.get("Mounts") or ()],
        "network": host.get("NetworkMode") or "",
        "ports": _ports(host.get("PortBindings") or {}),
        "listens": _listens(host.get("PortBindings") or {}),
        "gpus": _gpus(host),
        "options": _options(host),
        "policy": (host.get("RestartPolicy") or {}).get("Name") or "no",
        "auto_remove": bool(host.get("AutoRemove")),
        "running": bool(one["State"]["Running"]),
        "pid": one["State"]["Pid"] or None,
        "user": config.get("User") or "",
    }


def _image(image: str, run: Run) -> dict[str, Any]:
    answer = run(["docker", "image", "inspect", "--", image])
    try:
        found = json.loads(answer.out or "[]") if answer.ok else []
    except ValueError:
        found = []
    return found[0] if found else {}


def _mount(mount: dict[str, Any]) -> dict[str, Any]:
    return {
        "from": mount.get("Source") or "",
        "to": mount.get("Destination") or "",
        "write": bool(mount.get("RW")),
        "name": mount.get("Name") if mount.get("Type") == "volume" else None,
    }


def _ports(bound: dict[str, Any]) -> dict[str, int]:
    found = {}
    for inside, outside in bound.items():
        if inside.endswith("/tcp") and outside and str(outside[0].get("HostPort", "")).isdigit():
            found[inside.removesuffix("/tcp")] = int(outside[0]["HostPort"])
    return found


def _listens(bound: dict[str, Any]) -> list[list[Any]]:
    """Where docker takes connections for a container; without an address it does so on all."""
    every = [one for inside, some in bound.items() if inside.endswith("/tcp") for one in some or ()]
    found = [one for one in every if str(one.get("HostPort", "")).isdigit()]
    return [[int(one["HostPort"]), one.get("HostIp") or "::"] for one in found]


def _gpus(host: dict[str, Any]) -> str | None:
    """What --gpus was given, None where there are none. The older `--runtime nvidia` gives all."""
    for request in host.get("DeviceRequests") or ():
        if ids := request.get("DeviceIDs"):
            return f"device={','.join(ids)}"
        return "all" if request.get("Count", -1) == -1 else str(request["Count"])
    return "all" if host.get("Runtime") == "nvidia" else None


def _options(host: dict[str, Any]) -> list[str]:
    found = [f"{flag}={value}" for key, flag in _LISTS.items() for value in host.get(key) or ()]
    found += [f"{flag}={host[key]}" for key, flag in {**_SIZES, **_TEXTS}.items() if host.get(key)]
    for limit in host.get("Ulimits") or ():
        found.append(f"--ulimit={limit['Name']}={limit['Soft']}:{limit['Hard']}")
    for device in host.get("Devices") or ():
        found.append(f"--device={device['PathOnHost']}:{device['PathInContainer']}")
    if host.get("Privileged"):
        found.append("--privileged")
    return found
