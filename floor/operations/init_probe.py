"""Finds out what `floor init` writes about this machine. Reads only; whatever does not answer is left out."""

from __future__ import annotations

import platform
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from floor.box import facts, links, memory, paths
from floor.box.command import Result, Run, run
from floor.config.init import Gpu, Machine
from floor.errors import FloorError

# where people keep weights and engines, from the machine's root
MODELS = ("models", "srv/models", "data/models", "opt/models", "mnt/models", "var/lib/models")
PROGRAMS = ("opt/*/bin/vllm", "opt/*/*/bin/vllm", "usr/local/bin/vllm", "srv/*/bin/vllm")
# interfaces whose addresses no other machine can reach
_INSIDE = re.compile(r"^(lo|docker|br-|veth|virbr|cni|flannel|podman|lxc|lxdbr)")
_MOST = 20
_PATIENCE = 10.0  # seconds; docker and the GPU's driver can hang on a machine in trouble


def patiently(argv: Sequence[str]) -> Result:
    """Given an argv, return what the program ended with; one that gives no answer counts as not there."""
    try:
        return run(argv, timeout=_PATIENCE)
    except FloorError as error:
        return Result(None, "", str(error))


def probe(ask: Run = patiently, root: Path = paths.ROOT) -> Machine:
    """Given how to run a program and the machine's root folder, return what was found on it."""
    found = memory.read(root)
    return Machine(
        hostname=socket.gethostname(),
        arch=platform.machine(),
        addresses=tuple(addresses(interfaces(), gateway(root))),
        memory_total=found.total,
        memory_available=found.available,
        gpus=tuple(Gpu(gpu["name"], gpu["total"]) for gpu in facts.gpus(ask)),
        images=tuple(images(ask)),
        programs=tuple(programs(root)),
        models=tuple(models(root)),
        links=tuple(links.read(ask, root)),
    )


def interfaces() -> dict[str, list[str]]:
    """Return this machine's addresses by interface."""
    import psutil

    families = (socket.AF_INET, socket.AF_INET6)
    return {
        name: [one.address.partition("%")[0] for one in some if one.family in families]
        for name, some in psutil.net_if_addrs().items()
    }


def addresses(found: Mapping[str, Sequence[str]], default: str | None) -> list[str]:
    """Given addresses by interface and the interface of the default route, return those that others may use.

    The default route's come first, IPv4 before IPv6: bridges of containers and link-local addresses are left out.
    """
    known = [
        (name != default, ":" in one, name, one)
        for name, some in found.items()
        if not _INSIDE.match(name)
        for one in some
        if not one.startswith(("127.", "169.254.", "fe80:")) and one != "::1"
    ]
    return list(dict.fromkeys(one for *_, one in sorted(known)))


def gateway(root: Path = paths.ROOT) -> str | None:
    """Return the interface of the default route, None where there is none."""
    try:
        lines = paths.under(root, "/proc/net/route").read_text().splitlines()[1:]
    except OSError:
        return None
    routes = [line.split() for line in lines]
    return next((words[0] for words in routes if len(words) > 1 and words[1] == "00000000"), None)


def images(ask: Run) -> Iterator[str]:
    """Yield docker's images that look like vLLM, with their digest where docker knows it."""
    answer = ask(["docker", "image", "ls", "--digests", "--format", "{{.Repository}} {{.Tag}} {{.Digest}}"])
    for line in answer.out.splitlines()[:200] if answer.ok else ():
        words = line.split()
        if len(words) == 3 and "vllm" in words[0] and "<none>" not in words[0]:
            repository, tag, digest = words
            if digest.startswith("sha256:"):
                yield f"{repository}@{digest}"
            elif tag != "<none>":
                yield f"{repository}:{tag}"


def programs(root: Path = paths.ROOT) -> Iterator[str]:
    """Yield vLLM's programs in the usual places; not those in home folders, which an engine's user cannot read."""
    for pattern in PROGRAMS:
        for found in _glob(root, pattern):
            yield f"/{found.relative_to(root)}"


def models(root: Path = paths.ROOT) -> Iterator[str]:
    """Yield folders with weights in the usual places: a config.json and safetensors beside it."""
    for place in MODELS:
        for pattern in (f"{place}/*/config.json", f"{place}/*/*/config.json"):
            for config in _glob(root, pattern):
                if any(config.parent.glob("*.safetensors")):
                    yield f"/{config.parent.relative_to(root)}"


def _glob(root: Path, pattern: str) -> list[Path]:
    try:
        return sorted(root.glob(pattern))[:_MOST]
    except OSError:
        return []
