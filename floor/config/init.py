"""A first floor.yaml for one machine, from what was found on it. Pure: the finding is `floor.operations.init_probe`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from floor.config import example, hosts
from floor.config.emit import flow
from floor.config.fabric import propose as propose_fabric
from floor.config.models import IMAGE
from floor.config.problem import KeyPath, short
from floor.config.shape import ANY
from floor.config.values import NAME_LENGTH, folder
from floor.sizes import gib

_KEEP_FREE = 8 * 2**30
_MOST = 0.85  # what people settle on where CPU and GPU share their memory; 0.90 freezes boxes
_LEAST = 0.05
_IMAGE = "registry.example/vllm:v0.11.0"
_SOURCE = "/models/flagship"
# what GB10 owners start vLLM's container with, beside what floor gives to each (host network and IPC, pinned memory)
_GB10_OPTIONS = ("--ulimit=stack=67108864",)


@dataclass(frozen=True)
class Gpu:
    """A GPU: its name, and its own memory in bytes, None where it shares the machine's (GB10: `[N/A]`)."""

    name: str
    memory: int | None = None


@dataclass(frozen=True)
class Machine:
    """What was found on a machine. Bytes; None is "does not tell". The address that others use comes first.

    `links` are as floor.box.links tells them.
    """

    hostname: str
    arch: str = "x86_64"
    addresses: tuple[str, ...] = ()
    memory_total: int | None = None
    memory_available: int | None = None
    gpus: tuple[Gpu, ...] = ()
    images: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    links: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    @property
    def unified(self) -> bool:
        """Whether CPU and GPU share their memory: there is a GPU, and none that tells memory of its own."""
        return bool(self.gpus) and all(gpu.memory is None for gpu in self.gpus)


def propose(facts: Machine) -> str:
    """Given what was found on a machine, return a commented floor.yaml for it that `floor check` accepts.

    Every option of the example stands in it, with its comment: those that the machine decides are set, the others
    show their defaults. A second box and its copy are there as comments.
    """
    facts = _usable(facts)
    box = flow(name(facts.hostname.partition(".")[0], "box"))
    model = flow(name(facts.models[0].rsplit("/", 1)[-1], "flagship") if facts.models else "flagship")
    lines = [*_found(facts), "", "# The machines, each under the name that every command knows it by.", "boxes:"]
    lines += [f"  {box}:", *_section(("boxes", ANY), _box(facts), 4), *_SECOND_BOX]
    lines += ["", "# The models, each under the name that clients ask for.", "models:", f"  {model}:"]
    lines += _section(("models", ANY), _model(facts, box), 4)
    lines += ["", "# nginx in front of the copies.", "proxy:", *_section(("proxy",), {"boxes": f"[{box}]"}, 2)]
    lines += ["", "# How a copy is judged.", "health:", *_section(("health",), {}, 2)]
    lines += ["", "# The memory guard of each box with a copy.", "guard:", *_section(("guard",), {}, 2)]
    lines += ["", "# What starts a copy again that hangs or stays down.", "watchdog:"]
    lines += _section(("watchdog",), {}, 2)
    lines += [
        "",
        "# Who is told of what needs a person: nobody, unless there is a command or a webhook.",
        "notify:",
        *_section(("notify",), {}, 2),
    ]
    lines += [
        "",
        "# A page for Prometheus on each box, and one for people.",
        "metrics:",
        *_section(("metrics",), {}, 2),
    ]
    return "\n".join(lines) + "\n"


def name(found: str, otherwise: str) -> str:
    """Given a host's or a folder's name, return one for a box or a model, `otherwise` where nothing of it can stay."""
    plain = re.sub(r"[^a-z0-9.]+", "-", found.lower())[:NAME_LENGTH].strip("-.")
    return otherwise if plain in ("", "local") else plain


def share(facts: Machine) -> float | None:
    """Given a machine, return the share for its engine, None where there is no GPU or nothing is known.

    utilization = floor to two places of min(0.85, (available - reserve) / total): what else runs there stays as it is.
    """
    if not facts.gpus:
        return None
    if not facts.unified or not facts.memory_total or facts.memory_available is None:
        return _MOST
    fits = (facts.memory_available - _KEEP_FREE) / facts.memory_total
    return max(_LEAST, min(_MOST, math.floor(fits * 100) / 100))


def _found(facts: Machine) -> Iterator[str]:
    shared = ", shared with the GPU" if facts.unified else ""
    yield f"# floor.yaml, first written by `floor init` on {short(facts.hostname)}. `floor check` tells what is wrong."
    yield "# A line that begins with `#` and goes on at once shows a default or an example: take the `#` away."
    yield "#"
    yield f"# Found on this {short(facts.arch)} machine:"
    yield f"#   memory: {gib(facts.memory_total)}, {gib(facts.memory_available)} available{shared}"
    gpus = [f"{gpu.name} ({gib(gpu.memory)})" if gpu.memory else gpu.name for gpu in facts.gpus]
    for what, some in (
        ("GPUs", gpus),
        ("addresses", facts.addresses),
        ("RDMA devices", [one for link in facts.links for one in link["devices"]]),
        ("images of vLLM", facts.images),
        ("vLLM", facts.programs),
        ("models", facts.models),
    ):
        yield f"#   {what}: {', '.join(_printable(one) for one in some) or 'none'}"


def _printable(found: str) -> str:
    return found if found.isprintable() else ascii(found)


def _usable(facts: Machine) -> Machine:
    """Given what was found, return it without what floor.yaml could not hold: odd paths, images and addresses."""
    return replace(
        facts,
        addresses=tuple(one for one in facts.addresses if _is(hosts.address, one)),
        images=tuple(one for one in facts.images if one and re.fullmatch(IMAGE, one)),
        programs=tuple(one for one in facts.programs if one.startswith("/") and not re.search(r"\s", one)),
        models=tuple(one for one in facts.models if _is(folder, one)),
    )


def _is(valid: Callable[[str], str], found: str) -> bool:
    try:
        return bool(valid(found))
    except ValueError:
        return False


_SECOND_BOX = [
    "  # A second box: take the `# ` away, fill it in, and add its name to `replicas` and to the proxy's boxes.",
    "  # spark-b:",
    "  #   host: 192.0.2.12",
    "  #   ssh: you@spark-b",
]


def _box(facts: Machine) -> dict[str, str | list[str]]:
    host = facts.addresses[0] if facts.addresses else "127.0.0.1"
    fabric = propose_fabric({"": facts.links}).get("")
    own = {"fabric": f"{flow(fabric)}  # its link with RDMA"} if fabric and fabric["address"] != host else {}
    return {"host": flow(host), "ssh": "local", **own}


def _model(facts: Machine, box: str) -> dict[str, str | list[str]]:
    values: dict[str, str | list[str]] = {
        "source": flow(facts.models[0]) if facts.models else f"{_SOURCE}  # none was found here: write yours",
        "replicas": f"[{box}]",
    }
    if (part := share(facts)) is not None:
        values["utilization"] = f"{part:g}"
    if not facts.gpus:
        values["env"] = '{VLLM_CPU_KVCACHE_SPACE: "4"}  # GiB: no GPU was found, this is for vLLM\'s build for the CPU'
    values["runtime"] = _section(("models", ANY, "runtime"), _runtime(facts), 6)
    return values


def _runtime(facts: Machine) -> dict[str, str | list[str]]:
    if facts.programs and not facts.images:
        return {"kind": "native", "command": flow(facts.programs[0])}
    values: dict[str, str | list[str]] = {
        "kind": "docker",
        "image": flow(facts.images[0]) if facts.images else f"{_IMAGE}  # none was found here: write yours",
    }
    if not facts.gpus:
        values["gpus"] = "none"
    if facts.unified:
        values["options"] = flow(list(_GB10_OPTIONS))
    return values


def _section(path: KeyPath, values: Mapping[str, str | Sequence[str]], indent: int) -> list[str]:
    """Given a path, values of keys below it (YAML, or lines of it) and an indentation, return the section's lines."""
    lines: list[str] = []
    other = "native: " if values.get("kind") == "docker" else "docker: "
    for option in example.below(path):
        key, value = str(option.path[-1]), values.get(str(option.path[-1]))
        if "kind" in values and " ".join(option.comment).startswith(other):
            continue
        lines += [f"{' ' * indent}# {line}" for line in option.comment]
        if value is None:
            lines.append(f"{' ' * indent}#{key}: {option.value or _inline(option.path)}")
        elif isinstance(value, str):
            lines.append(f"{' ' * indent}{key}: {value}")
        else:
            lines += [f"{' ' * indent}{key}:", *value]
    return lines


def _inline(path: KeyPath) -> str:
    """Given the path of an option that holds others, return those of the example on one line."""
    inside = [f"{option.path[-1]}: {option.value}" for option in example.below(path) if option.active and option.value]
    return "{" + ", ".join(inside) + "}"
