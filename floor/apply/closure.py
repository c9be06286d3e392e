"""Which packages floor needs on a box: the very versions that run here, chosen by the box's Python and machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from floor.apply.own_wheel import DISTRIBUTION


@dataclass(frozen=True)
class Platform:
    """What wheels must fit: `machine` as uname says, `python` and `libc` (glibc) as (major, minor)."""

    machine: str
    python: tuple[int, int]
    libc: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.machine}, Python {self.python[0]}.{self.python[1]}, glibc {self.libc[0]}.{self.libc[1]}"

    @property
    def tags(self) -> list[str]:
        """The platform tags of wheels that run there, best first (PEP 600; manylinux2014 is glibc 2.17)."""
        _, newest = self.libc
        oldest = 5 if self.machine == "x86_64" else 17
        tags = [f"manylinux_2_{minor}_{self.machine}" for minor in range(newest, oldest - 1, -1)]
        named = {"manylinux2014": 17, "manylinux2010": 12, "manylinux1": 5}
        old = [f"{name}_{self.machine}" for name, minor in named.items() if oldest <= minor <= newest]
        return [*tags, *old, f"linux_{self.machine}"]

    @property
    def markers(self) -> dict[str, str]:
        """The environment in which a requirement's marker must be read."""
        version = f"{self.python[0]}.{self.python[1]}"
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{version}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{version}.0",
            "python_version": version,
            "sys_platform": "linux",
        }


# What a release is named after must not depend on the machine that it is named on.
REFERENCE = Platform("x86_64", (3, 12), (2, 36))

Installed = Callable[[str], tuple[str, Iterable[str]] | None]


def installed(name: str) -> tuple[str, Iterable[str]] | None:
    """Given a distribution, return its version here and its requirements, None where it is not installed."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    return found.version, found.requires or ()


def closure(platform: Platform, look: Installed = installed) -> list[str]:
    """Return all that floor needs there, itself left out, as requirements in order.

    Pinned to the version that is installed here. What only the box needs, not this machine, keeps the range it was
    asked for with.
    """
    found: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(DISTRIBUTION, "")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in done:
            continue
        done.add((name, extra))
        here = look(name)
        for text in here[1] if here else ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({**platform.markers, "extra": extra}):
                key = canonicalize_name(requirement.name)
                there = look(key)
                found[key] = f"{key}=={there[0]}" if there else f"{key}{requirement.specifier}"
                waiting.extend((key, wish) for wish in ("", *sorted(requirement.extras)))
    return sorted(text for key, text in found.items() if key != DISTRIBUTION)
