"""An engine in a container: the command lines of the docker client that start, stop and remove it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

DOCKER = "/usr/bin/docker"


@dataclass(frozen=True)
class Container:
    """One container. `volumes` are HOST:INSIDE[:ro], `env` its variables, `secrets` names of variables that the client
    takes from its own environment, `options` more words for `docker run`, `gpus` what --gpus takes or None.

    `devices` are paths of the box, such as /dev/infiniband. `words` stand behind the `entrypoint`, which replaces the
    image's own.
    """

    name: str
    image: str
    words: Sequence[str]
    entrypoint: Sequence[str]
    gpus: str | None = None
    devices: Sequence[str] = ()
    volumes: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()
    options: Sequence[str] = ()


def run(container: Container) -> list[str]:
    """Given a container, return the command line that runs it in the foreground of its unit."""
    program, *rest = container.entrypoint
    words = [DOCKER, "run", "--rm", "--name", container.name]
    # systemd alone restarts: a policy of docker's would race with it, and with the mode.
    words += ["--restart=no"]
    # The image was put there before; a start must neither wait for a registry nor get another image.
    words += ["--pull=never"]
    # The unit's journal has every line already; docker's own file would grow without bound.
    words += ["--log-driver=none"]
    # init reaps and passes signals on; engines share memory between their processes.
    words += ["--init", "--network", "host", "--ipc", "host"]
    # Memory is pinned for a card, and for RDMA. Without them none is, and a box that is a container itself may not
    # raise that limit.
    words += ["--ulimit", "memlock=-1"] if container.gpus or container.devices else []
    words += ["--gpus", container.gpus] if container.gpus else []
    for device in container.devices:
        words += ["--device", device]
    for volume in container.volumes:
        words += ["--volume", volume]
    for name, value in sorted(container.env.items()):
        words += ["--env", f"{name}={value}"]
    for name in container.secrets:
        words += ["--env", name]
    words += [*container.options, "--entrypoint", program, container.image, *rest, *container.words]
    return words


def stop(name: str, seconds: float) -> list[str]:
    """Given a container and how long it may finish what it has, return the command line that stops it."""
    return [DOCKER, "stop", "-t", str(math.ceil(seconds)), name]


def remove(name: str) -> list[str]:
    """Given a container, return the command line that removes it, running or not.

    A docker client that was killed leaves its container running, outside the unit's cgroup.
    """
    return [DOCKER, "rm", "-f", name]


def mounts(source: str, volumes: Sequence[str]) -> list[str]:
    """Given the folder of the weights and the volumes of the config, return the volumes that the container needs.

    The folder is added, read-only and under its own name, unless a volume covers it already.
    """
    inside = [volume.split(":")[1].rstrip("/") or "/" for volume in volumes]
    covered = any(source == path or source.startswith(path.rstrip("/") + "/") for path in inside)
    return [*volumes, *([] if covered else [f"{source}:{source}:ro"])]
