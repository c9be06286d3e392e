"""nginx on this box: its processes as /proc shows them, and the one command that makes it read its files again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from floor.errors import FloorError

from .rollout import Process

RELOAD = ("systemctl", "reload", "floor-proxy.service")
RELOAD_TIMEOUT = 2.0  # seconds; the unit runs `nginx -t` first, which takes 0.05
JOB = ("systemctl", "show", "--property=ActiveState,Job", "floor-proxy.service")
# Seconds after which, twice, a reload that has not begun counts as one that waits for its turn. Without another job
# before it systemd begins within a few milliseconds.
WAITS = 0.25

# What systemctl says of a job that contradicts the stop which waits for its turn (its transaction.c).
_TO_BE_STOPPED = "is destructive"

_TICKS = os.sysconf("SC_CLK_TCK")
_LEAVING = b"is shutting down"  # what nginx adds to the title of a worker that takes no more requests

Reload = Callable[[], Awaitable[None]]


def reload_by(
    argv: Sequence[str],
    hang_up: Callable[[], None],
    timeout: float = RELOAD_TIMEOUT,
    job: Sequence[str] | None = None,
) -> Reload:
    """Given a command, return what runs it. That raises FloorError with its words if it says that it failed.

    A unit that is to be stopped is not reloaded by systemd any more, and at a shutdown nginx serves on until the copies
    of its box have finished: then it is told by `hang_up` alone. So it is while a copy of this box is being stopped,
    which is ordered after nginx: systemd lets the reload wait for that, and the copy waits for the reload. `job` tells.
    One that takes longer than `timeout` seconds may still succeed, so it counts as asked for: whether new workers come
    is seen in /proc.
    """

    async def run() -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
        except OSError as error:
            raise FloorError(f"`{' '.join(argv)}`: {error.strerror}; floor-pool cannot reload nginx") from error
        talk = asyncio.create_task(process.communicate())
        if not await _ends(talk, timeout, job):
            with suppress(ProcessLookupError):
                process.kill()
            await talk
            hang_up()
            return
        said, _ = talk.result()
        if process.returncode:
            words = " ".join(said.decode("utf-8", "replace").split()) or f"exit status {process.returncode}"
            if _TO_BE_STOPPED in words:
                hang_up()
                return
            raise FloorError(f"`{' '.join(argv)}`: {words:.500}; `journalctl -u floor-proxy` tells more")

    return run


async def _ends(talk: asyncio.Task[Any], within: float, job: Sequence[str] | None) -> bool:
    """Wait for a command for so long, or until `job` has told twice that what it asked for has not begun. Return
    whether it has ended."""
    ends, waits = time.monotonic() + within, 0
    while not talk.done() and waits < 2 and (left := ends - time.monotonic()) > 0:
        await asyncio.wait({talk}, timeout=left if job is None else min(left, WAITS))
        if job is not None and not talk.done():
            waits = waits + 1 if await _queued(job, ends - time.monotonic()) else 0
    return talk.done()


async def _queued(argv: Sequence[str], within: float) -> bool:
    """Whether systemd has a job for the unit and has not begun with it: while it reloads, its state says so."""
    try:
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*argv, stdin=null, stdout=pipe, stderr=null)
    except OSError:
        return False
    try:
        said, _ = await asyncio.wait_for(process.communicate(), within)
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    found = dict(line.split("=", 1) for line in said.decode("utf-8", "replace").splitlines() if "=" in line)
    return found.get("ActiveState") == "active" and found.get("Job", "0") not in ("", "0")


def now_ticks() -> int:
    """Return the clock that processes' start times are counted by: ticks since boot, sleep included."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)


class Processes:
    """nginx's processes, found by its pid file; `proc` is /proc."""

    def __init__(self, pid_file: Path, proc: Path = Path("/proc")) -> None:
        self._pid_file, self._proc = pid_file, proc

    def master(self) -> Process | None:
        """Return the master, None if nginx does not run."""
        try:
            pid = int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None  # not running, or about to write it
        found = self._process(pid)
        return None if found is None or not found[1].startswith(b"nginx: master process") else found[0]

    def hang_up(self) -> None:
        """Have the master read its files again. One that is gone needs not be told."""
        master = self.master()
        if master is not None:
            with suppress(ProcessLookupError):
                os.kill(master.pid, signal.SIGHUP)

    def workers(self, master: Process | None) -> tuple[Process, ...]:
        """Given the master, return its workers, those that are leaving too."""
        if master is None:
            return ()
        found = [self._process(pid) for pid in self._children(master.pid)]
        return tuple(one[0] for one in found if one is not None and one[1].startswith(b"nginx: worker process"))

    def _children(self, pid: int) -> list[int]:
        try:
            return [int(child) for child in (self._proc / f"{pid}/task/{pid}/children").read_text().split()]
        except OSError:
            pass  # a kernel without CONFIG_PROC_CHILDREN: ask every process for its parent
        return [
            int(entry.name) for entry in self._proc.iterdir() if entry.name.isdigit() and self._parent(entry) == pid
        ]

    def _parent(self, entry: Path) -> int | None:
        fields = _stat(entry)
        return None if fields is None else int(fields[1])

    def _process(self, pid: int) -> tuple[Process, bytes] | None:
        entry = self._proc / str(pid)
        fields = _stat(entry)
        if fields is None or fields[0] == b"Z":
            return None
        try:
            title = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            return None  # it ended between the two reads
        return Process(pid, int(fields[19]), leaving=_LEAVING in title), title


def _stat(entry: Path) -> list[bytes] | None:
    """Return the fields of /proc/PID/stat after the name (proc(5): state is field 3, ppid 4, starttime 22)."""
    try:
        return (entry / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
