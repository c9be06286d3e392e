"""The system's own ssh: the user's configuration and known hosts count as in any other session."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from floor.apply import words
from floor.apply.exchange import SUDO, Transport
from floor.errors import BoxError, FloorError

# A unix socket's path holds 104 bytes on the smallest system; ssh adds 40 digits (%C), and 17 more while it makes it.
LONGEST_FOLDER = 104 - 1 - 1 - 40 - 17
UNFIT = re.compile(r"[\s'\"`$\\;&|<>(){}*?!#\x00-\x1f\x7f]")


def target(box: str, destination: str) -> str:
    """Given a destination from floor.yaml, return it as ssh takes it: a literal IPv6 address loses its brackets.

    Raises BoxError for one that ssh would take for an option or a shell could take apart.
    """
    user, at, host = destination.rpartition("@")
    if not destination or not host or "-" in (destination[0], host[0]) or UNFIT.search(destination):
        raise BoxError(f"{box}: ssh: {destination!r} is no destination; write USER@HOST or a name of your ssh config")
    if destination.startswith("ssh://"):
        return destination
    return f"{user}{at}{host[1:-1] if host[0] == '[' and host[-1] == ']' else host}"


def options(environment: Mapping[str, str], control: Path) -> list[str]:
    """Return the options of every ssh: never ask, share one connection a box, notice within 12 s that it is lost."""
    config = environment.get("FLOOR_SSH_CONFIG")
    wanted = {
        "BatchMode": "yes",
        "ControlMaster": "auto",
        "ControlPath": f"{control}/%C",
        "ControlPersist": "60",
        "ConnectTimeout": "10",
        "ServerAliveInterval": "3",
        "ServerAliveCountMax": "3",
    }
    return [
        *(["-F", config] if config else []),
        *(word for key, value in wanted.items() for word in ("-o", f"{key}={value}")),
    ]


def control_folder(environment: Mapping[str, str], user: int) -> Path:
    """Return the folder of the shared connections, made now if it is not there: 0700 and this user's own.

    Raises FloorError when somebody else has put something there.
    """
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime, "floor-ssh")
    if not runtime or not Path(runtime).is_dir() or len(os.fsencode(folder)) > LONGEST_FOLDER:
        folder = Path("/tmp") / f"floor-ssh-{user}"  # noqa: S108 -- checked below to be this user's own
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != user or seen.st_mode & 0o077:
        raise FloorError(f"{folder}: must be a folder of your own with mode 0700; remove it and try again")
    return folder


def argv(box: str, destination: str, command: Sequence[str], *before: str) -> list[str]:
    """Given the words of a remote command, and options for ssh before them, return the whole local command.

    Raises as `target` and `control_folder` do. The words must mean the same to any shell: nothing is quoted here.
    """
    control = control_folder(os.environ, os.geteuid())
    return ["ssh", *options(os.environ, control), *before, "--", target(box, destination), *command]


class SshTransport(Transport):
    """A box behind ssh. `destination` is whatever ssh takes: user@host, a name of the ssh config, an address."""

    def __init__(self, box: str, destination: str) -> None:
        super().__init__(box)
        self.destination = destination

    def argv(self) -> list[str]:
        return argv(self.box, self.destination, SUDO, "-T")

    def explain(self, code: int, said: str) -> BoxError:
        return words.of_ssh(self.box, self.destination, code, said)
