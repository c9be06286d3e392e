"""Booting a folder as a machine: systemd-nspawn's command line, and finding the box's first process."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.lab import cgroups
from tests.lab.machine import LabError

# NET_ADMIN: keepalived's address and nftables; SYS_ADMIN, SYS_RESOURCE and MKNOD: docker's containers.
CAPABILITIES = "CAP_NET_ADMIN,CAP_NET_RAW,CAP_SYS_PTRACE,CAP_SYS_ADMIN,CAP_SYS_RESOURCE,CAP_MKNOD"
# Calls that runc makes for every container and nspawn forbids by default.
SYSTEM_CALLS = "add_key keyctl bpf"
# Moves the shell into the box's cgroups before it becomes nspawn; $1 and $2 are the files to write to.
ENTER_CGROUPS = 'for file in $FILES; do echo $$ >"$file" || exit 1; done; exec "$@"'


def boot_command(
    root: Path, name: str, run_name: str, binds: Mapping[str, Path], read_only: Mapping[str, Path]
) -> list[str]:
    """Return the argv that boots `root` as box `name`.

    `run_name` is the name of its network namespace and of its machine; `binds` are places in the box and the
    folders of this machine that appear there.
    """
    return [
        "systemd-nspawn", "--quiet", "--boot", f"--directory={root}",
        "--register=no", "--keep-unit", f"--machine={run_name}", f"--hostname={name}",
        f"--network-namespace-path=/run/netns/{run_name}",
        "--link-journal=no", "--resolv-conf=off", "--timezone=off", "--console=pipe",
        f"--capability={CAPABILITIES}", f"--system-call-filter={SYSTEM_CALLS}",
        *(f"--bind={source}:{place}" for place, source in binds.items()),
        *(f"--bind-ro={source}:{place}" for place, source in read_only.items()),
    ]  # fmt: skip


def start(argv: list[str], run_name: str, console: Path) -> subprocess.Popen[bytes]:
    """Start nspawn in a session and in cgroups of its own, its console going to the file `console`."""
    files = cgroups.make(run_name)
    environment = os.environ | {
        "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
        "FILES": " ".join(str(file) for file in files),
    }
    with console.open("ab") as log:
        return subprocess.Popen(
            ["sh", "-c", ENTER_CGROUPS, "sh", *argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )


def leader(nspawn: subprocess.Popen[bytes], console: Path, deadline: float = 30.0) -> int:
    """Return this machine's id of the box's first process, once it is systemd. Raises LabError with the console."""
    end = time.monotonic() + deadline
    while nspawn.poll() is None and time.monotonic() < end:
        for child in children(nspawn.pid):
            if is_init(child):
                return child
        time.sleep(0.02)
    raise LabError(
        f"{console}: the box did not boot (nspawn's status: {nspawn.poll()}):\n{console.read_text()[-2000:]}"
    )


def children(process: int) -> list[int]:
    """Return the ids of a process's children; none if it is gone."""
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_init(process: int) -> bool:
    """Return whether the process is systemd and the first of a namespace of its own."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return fields["Name"] == "systemd" and fields["NSpid"].split()[-1] == "1" and len(fields["NSpid"].split()) > 1
