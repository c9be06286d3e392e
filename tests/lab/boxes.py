"""The lab: two or three boxes and a client on one network, made for one run and gone with it."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import IO, Self

from tests.lab import access, leftovers, network
from tests.lab.box import Box
from tests.lab.cache import cache_folder, locked
from tests.lab.commands import run
from tests.lab.docker_image import docker_seed
from tests.lab.machine import LabError, require_machine
from tests.lab.rootfs import root_file_system

HOST_NUMBERS = {"boxa": 11, "boxb": 12, "boxc": 13}
CLIENT_NUMBER = 100
SUBNETS = tuple(f"10.{number}.0" for number in range(77, 93))


class Client:
    """A namespace beside the boxes, for a client that is on none of them."""

    def __init__(self, wire: network.Wire) -> None:
        self.wire = wire
        self.address = wire.address

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002 - subprocess's name
        timeout: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of this machine with the client's network."""
        return run([*self.enter(), *argv], check=check, input=input, timeout=timeout)

    def enter(self) -> list[str]:
        """Return the words that, before a command, run it with the client's network."""
        return ["ip", "netns", "exec", self.wire.name]


class Lab:
    """A running lab; use it as a context manager, or call `close`.

    `boxes` is by name; `ssh_config` makes `ssh -F CONFIG boxa` work; `path` first in PATH makes plain `ssh boxa` work.
    """

    def __init__(
        self, names: Sequence[str], shows: Mapping[str, Path], run_id: str, subnet: str, lock: IO[str]
    ) -> None:
        self.run_id = run_id
        self.subnet = subnet
        self.folder = runs_folder() / run_id
        self.lock = lock
        self.bridge = network.bridge_name(run_id)
        lower = root_file_system() / "fs"
        self.boxes = {
            name: Box(name, self.box_wire(name), self.folder / name, lower, self.folder, shows=shows) for name in names
        }
        self.client = Client(self.wire("client", CLIENT_NUMBER))
        self.ssh_config = self.folder / "ssh_config"
        self.path = self.folder / "bin"

    @classmethod
    def start(cls, names: Sequence[str] = ("boxa", "boxb"), shows: Mapping[str, Path] | None = None) -> Lab:
        """Remove what dead runs left, then boot the boxes `names` side by side.

        `shows` are places in the boxes and the folders of this machine that appear there, read-only.
        Raises LabError with what is missing on this machine.
        """
        require_machine()
        run_id, subnet, lock = claim(os.environ.get("FLOOR_LAB_SUBNET", ""))
        try:
            lab = cls(names, shows or {}, run_id, subnet, lock)
            lab.lay()
        except BaseException:
            leftovers.demolish(runs_folder() / run_id)
            lock.close()
            raise
        return lab

    def wire(self, name: str, number: int) -> network.Wire:
        """Return the wire of the machine `name`, whose address ends in `number`."""
        return network.Wire(f"{self.run_id}-{name}", f"{self.subnet}.{number}", self.bridge)

    def box_wire(self, name: str) -> network.Wire:
        """Return the wire of a box, which has another address on the fabric: 10.177.0.11 beside 10.77.0.11."""
        first, second, third = self.subnet.split(".")
        fabric = f"{first}.{int(second) + 100}.{third}.{HOST_NUMBERS[name]}"
        return replace(self.wire(name, HOST_NUMBERS[name]), fabric=fabric)

    def lay(self) -> None:
        """Make the network, the keys and the boxes' files, and boot the boxes."""
        network.raise_bridge(self.run_id, self.subnet)
        network.plug(self.client.wire)
        access.write(self.folder, {box.name: box.address for box in self.boxes.values()})
        seed = docker_seed(next(iter(self.boxes.values())))
        for box in self.boxes.values():
            box.docker_seed = seed
        self.reset()

    def show(self, shows: Mapping[str, Path]) -> None:
        """Make all boxes new, showing these folders (place in the box: folder of this machine) read-only."""
        for box in self.boxes.values():
            box.shows = shows
        self.reset()

    def reset(self) -> None:
        """Make all boxes new, side by side."""
        self.each(Box.reset)

    def each(self, action: Callable[[Box], None]) -> None:
        """Do something to all boxes, side by side; the first error is raised."""
        with ThreadPoolExecutor(len(self.boxes)) as pool:
            for _ in pool.map(action, self.boxes.values()):
                pass

    def environment(self) -> dict[str, str]:
        """Return this process's environment with the ssh that knows the boxes first in PATH."""
        return os.environ | {"PATH": f"{self.path}:{os.environ['PATH']}"}

    def close(self) -> None:
        """Remove the lab."""
        for box in self.boxes.values():
            box.halt()
        leftovers.demolish(self.folder)
        self.lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def runs_folder() -> Path:
    """Return the folder that holds a folder for each run of the lab."""
    folder = cache_folder() / "runs"
    folder.mkdir(exist_ok=True)
    return folder


def claim(wanted: str) -> tuple[str, str, IO[str]]:
    """Remove dead runs and take a run's id and a subnet; return both and the lock that says this process lives.

    `wanted` is a subnet such as 10.78.0, or empty for the first free one. Raises LabError if it is taken.
    """
    run_id = f"fl{os.getpid()}"
    with locked(cache_folder() / "runs.lock"):
        runs = list(runs_folder().iterdir())
        dead = leftovers.dead_runs(runs)
        for folder in dead:
            leftovers.demolish(folder)
        taken = {(folder / "subnet").read_text(): folder.name for folder in runs if folder not in dead}
        subnet = free_subnet(wanted, taken)
        folder = runs_folder() / run_id
        folder.mkdir()
        lock = (folder / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "subnet").write_text(subnet)
    return run_id, subnet, lock


def free_subnet(wanted: str, taken: Mapping[str, str]) -> str:
    """Given the wanted subnet (or an empty text) and those taken, with their runs, return the one to use.

    Raises LabError if the wanted one, or every one, is taken.
    """
    if wanted in taken:
        raise LabError(f"FLOOR_LAB_SUBNET={wanted} is taken by the running lab {taken[wanted]}: leave it unset")
    free = [subnet for subnet in ((wanted,) if wanted else SUBNETS) if subnet not in taken]
    if not free:
        raise LabError(f"all {len(SUBNETS)} subnets are taken by running labs ({', '.join(taken.values())}): end one")
    return free[0]
