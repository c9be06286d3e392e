"""One box of the lab: a machine with systemd, sshd, nginx and docker that can be looked into, cut off and reset."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import testinfra
from testinfra.host import Host

from tests.lab import access, cgroups, network, nspawn
from tests.lab.commands import run
from tests.lab.machine import LabError

ENVIRONMENT = (
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "USER=root",
    "LANG=C.UTF-8",
)
REBOOT_STATUS = 133  # of nspawn when the box asked for a reboot


@dataclass
class Box:
    """A box: `name`, `address`, the folder of its files, and the read-only folders it shows (place: folder)."""

    name: str
    wire: network.Wire
    folder: Path
    lower: Path
    lab_folder: Path
    docker_seed: Path | None = None
    shows: Mapping[str, Path] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    leader: int = 0

    @property
    def address(self) -> str:
        """The box's IPv4 address."""
        return self.wire.address

    @property
    def root(self) -> Path:
        """The box's file system as this machine sees it, without what is mounted inside."""
        return self.folder / "root"

    @property
    def console(self) -> Path:
        """The file that the box's console goes to."""
        return self.folder / "console.log"

    @property
    def host(self) -> Host:
        """A testinfra host that looks at the box as root over ssh."""
        # A kept master connection would outlive a power cut and answer for a box that is gone.
        return testinfra.get_host(
            f"ssh://{self.name}-root", ssh_config=str(self.lab_folder / "ssh_config"), controlpersist=0
        )

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002 - subprocess's name
        timeout: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside as root, not over the network. Raises CommandFailed, subprocess.TimeoutExpired."""
        return run([*self.enter(), *argv], check=check, input=input, timeout=timeout)

    def enter(self) -> list[str]:
        """Return the words that, before a command, run it inside. Raises LabError if the box is off."""
        if not self.is_on():
            raise LabError(f"{self.name} is off: boot it first")
        return ["nsenter", "--target", str(self.leader), "--all", "--", "env", "-i", *ENVIRONMENT]

    def ssh(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input: str | None = None,  # noqa: A002 - subprocess's name
        timeout: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command over ssh as the person `ops`. Raises CommandFailed, subprocess.TimeoutExpired."""
        ssh: list[str | Path] = ["ssh", "-F", self.lab_folder / "ssh_config", self.name, shlex.join(argv)]
        return run(ssh, check=check, input=input, timeout=timeout)

    def put(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file of the box, with its folders."""
        self.run(["install", "-D", f"--mode={mode:o}", "/dev/stdin", path], input=text)

    def read(self, path: str) -> str:
        """Return the text of a file of the box."""
        return self.run(["cat", path]).stdout

    def pid(self, unit: str) -> int:
        """Return the main process of a unit, as numbered in the box; 0 if it is not running."""
        return int(self.run(["systemctl", "show", "--property=MainPID", "--value", unit]).stdout)

    def boot_id(self) -> str:
        """Return the id of this boot, which each boot has of its own."""
        return self.read("/proc/sys/kernel/random/boot_id").strip()

    def is_on(self) -> bool:
        """Return whether the box is running."""
        return self.process is not None and self.process.poll() is None and self.leader != 0

    def boot(self, deadline: float = 90.0, *, settled: bool = True) -> None:
        """Switch the box on and wait until all its units are up, or without `settled` until sshd is: a part of a group
        may wait for other boxes. Raises LabError with what failed or is missing."""
        if self.is_on():
            raise LabError(f"{self.name} is already on")
        network.plug(self.wire)
        argv = nspawn.boot_command(
            self.root, self.name, self.wire.name, {"/var/lib/docker": self.folder / "docker"}, self.shows
        )
        self.process = nspawn.start(argv, self.wire.name, self.console)
        self.leader = nspawn.leader(self.process, self.console)
        self._await(["is-system-running"] if settled else ["is-active", "ssh.service"], deadline)

    def _await(self, question: list[str], deadline: float) -> None:
        """Wait until systemctl answers `running` or `active`. Raises LabError for `degraded`, or after `deadline`
        seconds."""
        end = time.monotonic() + deadline
        state = ""
        while time.monotonic() < end:
            state = self.run(["systemctl", *question], check=False).stdout.strip()
            if state in ("running", "active"):
                return
            if state == "degraded":
                break
            time.sleep(0.1)
        failed = self.run(["systemctl", "--failed", "--no-legend"], check=False).stdout
        jobs = self.run(["systemctl", "list-jobs"], check=False).stdout
        raise LabError(
            f"{self.name} is {state or 'silent'} {deadline:.0f} s after boot; failed:\n{failed}jobs:\n{jobs}"
        )

    def power_cut(self) -> None:
        """Take the power away: the wire goes silent first, then every process is gone at once; disks stay."""
        network.cut(self.wire)
        self.halt()

    def halt(self) -> None:
        """Kill the box's first process, and all others with it, and wait for the end of nspawn."""
        if self.process is None:
            return
        if self.leader:
            # nspawn alone would leave the box running and answering
            try:
                os.kill(self.leader, signal.SIGKILL)
            except ProcessLookupError:
                self.leader = 0
        cgroups.kill(self.wire.name)
        self.process.wait(30)
        self.process, self.leader = None, 0
        cgroups.remove(self.wire.name)

    def await_off(self, timeout: float = 90.0) -> int:
        """Wait until the box has gone down by itself; return nspawn's status (133: it wants to boot again)."""
        if self.process is None:
            raise LabError(f"{self.name} is already off")
        status = self.process.wait(timeout)
        self.halt()
        return status

    def reboot(self) -> None:
        """Reboot as a person would, and wait until it is up again."""
        self.run(["systemctl", "reboot"], check=False)
        self.boot_again()

    def boot_again(self, timeout: float = 90.0) -> None:
        """Wait until a reboot somebody asked for takes the box down, and boot it. Raises LabError if it was none."""
        status = self.await_off(timeout)
        if status != REBOOT_STATUS:
            raise LabError(f"{self.name} went down with status {status}, which is no reboot: see {self.console}")
        self.boot()

    def partition(self) -> None:
        """Cut the box off the network; it keeps running."""
        network.cut(self.wire)

    def heal(self) -> None:
        """End a partition."""
        network.mend(self.wire)

    def cut_fabric(self) -> None:
        """Cut the box off the other boxes' fabric alone."""
        network.cut_fabric(self.wire)

    def heal_fabric(self) -> None:
        """End that."""
        network.mend_fabric(self.wire)

    def reset(self) -> None:
        """Make the box what it was when it was new, and boot it."""
        self.halt()
        self.make_new()
        self.boot()

    def make_new(self) -> None:
        """Lay the files of a new box, in the place of what is there; the box must be off."""
        if self.root.is_mount():
            run(["umount", self.root])
        if self.folder.exists():
            shutil.rmtree(self.folder)
        for name in ("root", "upper", "work"):
            (self.folder / name).mkdir(parents=True)
        # volatile: no waiting for the disk at every fsync in the box
        options = f"lowerdir={self.lower},upperdir={self.folder / 'upper'},workdir={self.folder / 'work'},volatile"
        run(["mount", "-t", "overlay", "-o", options, f"lab-{self.name}", self.root])
        access.authorise(self.root, self.lab_folder, self.name)
        (self.root / "etc/machine-id").write_text(uuid.uuid4().hex + "\n")
        (self.root / "etc/hostname").write_text(f"{self.name}\n")
        (self.root / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {self.name}\n")
        self.lay_docker_folder()

    def lay_docker_folder(self) -> None:
        """Give the box a docker folder with the lab's images, on this machine's disk: docker refuses an overlay."""
        folder = self.folder / "docker"
        if self.docker_seed is None:
            folder.mkdir()
            return
        # Layers are never written to, so links will do; docker's own files are.
        run(["cp", "--archive", "--link", self.docker_seed, folder])
        for path in folder.iterdir():
            if path.name != "overlay2":
                shutil.rmtree(path)
                run(["cp", "--archive", self.docker_seed / path.name, path])
