"""Long work on this box that outlives the call that began it: a transient systemd unit with a job and a state.

The job lies in /run/floor/fetch/ID.json, what came of it in ID.state.json; the process holds a lock on ID.lock while
it lives, so a state that says `working` without a lock is that of a process which was killed. All of it goes with a
reboot: what has come lies in the folder itself. A secret passes through a pipe with a name and is in no file.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from floor.box import command, files, paths
from floor.box.locked import locked, mine
from floor.errors import FloorError, UsageError

ID = re.compile(r"(?:serve-)?[0-9a-f]{12}")
START_SECONDS = 20.0
POLL = 0.05
TOLD = ("kind", "what", "repo", "revision", "include", "folder", "reference")  # of a job: what tells it from another
LOOKS = 20  # tries for the lock of a task


def unit(task: str) -> str:
    """Given a task, return the name of its unit."""
    return f"{paths.FETCH_UNIT}{task}.service"


def place(task: str, suffix: str, root: Path = paths.ROOT) -> Path:
    """Given a task, return where its file of that suffix lies. Raises UsageError for what is no task's name."""
    if not ID.fullmatch(task):
        raise UsageError(f"task {task!r}: must be twelve hex digits")
    return paths.under(root, paths.FETCH_RUN) / f"{task}.{suffix}"


def start(
    task: str,
    job: Mapping[str, Any],
    secret: str | None,
    root: Path = paths.ROOT,
    run: command.Run = command.run,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Begin a task and hand it its secret. Return False where it runs already. Raises FloorError where it cannot."""
    with locked(place(task, "start", root)):
        if not _over(task, root, sleep):
            return False
        place(task, "state.json", root).unlink(missing_ok=True)
        files.write(paths.FETCH_RUN / f"{task}.json", json.dumps(dict(job)), mode=0o600, owner=mine(), root=root)
        pipe = place(task, "secret", root)
        pipe.unlink(missing_ok=True)
        if secret is not None:
            os.mkfifo(pipe, 0o600)
        where = [] if root == paths.ROOT else ["--root", str(root)]
        words = [sys.executable, "-I", "-m", "floor.agent.fetch", *where, task]
        result = run([*_transient(task, str(job.get("what", "weights"))), "--", *words])
        if not result.ok:
            raise FloorError(f"{unit(task)} cannot be started: {result.said}")
        _await(task, root, sleep)
        if secret is not None:
            _hand_over(task, pipe, secret, root, sleep)
    return True


def _over(task: str, root: Path, sleep: Callable[[float], None]) -> bool:
    """Whether no process works on a task. One that has said what came of it is about to end, and is waited for."""
    for _ in range(int(START_SECONDS / POLL)):
        if pid(task, root) is None:
            return True
        if (state(task, root) or {}).get("state") == "working":
            return False
        sleep(POLL)
    return False


def _transient(task: str, what: str) -> list[str]:
    properties = [
        "Type=exec",
        # Engines on this box come first.
        "Nice=10",
        "IOSchedulingClass=idle",
        "TimeoutStopSec=10",
    ]
    words = ["systemd-run", "--quiet", "--collect", "--no-ask-password", f"--unit={unit(task)}"]
    return [*words, f"--description=floor: {what}", *(f"--property={one}" for one in properties)]


def _await(task: str, root: Path, sleep: Callable[[float], None]) -> None:
    """Wait until the process holds its lock, or has left a state already."""
    for _ in range(int(START_SECONDS / POLL)):
        if pid(task, root) is not None or place(task, "state.json", root).exists():
            return
        sleep(POLL)
    raise FloorError(f"{unit(task)} does not begin; see `journalctl -u {unit(task)}`")


def _hand_over(task: str, pipe: Path, secret: str, root: Path, sleep: Callable[[float], None]) -> None:
    for _ in range(int(START_SECONDS / POLL)):
        try:
            handle = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.ENXIO, errno.ENOENT):
                raise FloorError(f"{pipe}: cannot be written ({error.strerror})") from None
            if pid(task, root) is None:
                raise FloorError(f"{unit(task)} ended before it began; see `journalctl -u {unit(task)}`") from None
            sleep(POLL)  # nobody reads it yet
            continue
        with os.fdopen(handle, "w") as file:
            file.write(secret)
        return
    raise FloorError(f"{pipe}: nobody takes the token there")


def receive(task: str, root: Path = paths.ROOT) -> str:
    """In the task itself: return the secret that `start` hands over. The pipe is gone afterwards. Raises FloorError."""
    pipe = place(task, "secret", root)
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        ends, got = time.monotonic() + START_SECONDS, b""
        while time.monotonic() < ends:
            if not select.select([handle], [], [], 0.2)[0]:
                continue
            try:
                block = os.read(handle, 65536)
            except BlockingIOError:
                continue
            if not block and got:
                return got.decode()
            got += block
            if not block:
                time.sleep(POLL)  # no writer yet: the end of a file that has not begun
    finally:
        os.close(handle)
        pipe.unlink(missing_ok=True)
    raise FloorError("the token was not handed over in time")


def hold(task: str, root: Path = paths.ROOT) -> int | None:
    """In the task itself: take its lock for the life of the process. Return its handle, None where another has it."""
    path = place(task, "lock", root)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    for _ in range(LOOKS):  # whoever looks whether the task lives holds the lock for a moment
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(POLL)
    else:
        os.close(handle)
        return None
    os.ftruncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle


def pid(task: str, root: Path = paths.ROOT) -> int | None:
    """Return the process that works on a task now, None where there is none."""
    try:
        handle = os.open(place(task, "lock", root), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(handle, 32)
        return int(text) if text.isdigit() else 0
    finally:
        os.close(handle)
    return None


def state(task: str, root: Path = paths.ROOT) -> dict[str, Any] | None:
    """Return how far a task is: what it wrote itself, with `state` `died` where its process is gone before its end."""
    alive = pid(task, root) is not None
    try:
        found = json.loads(place(task, "state.json", root).read_text())
    except (FileNotFoundError, ValueError):
        return {"state": "working", "done": 0, "total": 0} if alive else None
    if found.get("state") == "working" and not alive:
        found["state"] = "died"
    return dict(found)


def job(task: str, root: Path = paths.ROOT) -> dict[str, Any] | None:
    """Return what a task was told to do, None where there is none."""
    try:
        return dict(json.loads(place(task, "json", root).read_text()))
    except (FileNotFoundError, ValueError):
        return None


def stop(
    task: str, root: Path = paths.ROOT, sleep: Callable[[float], None] = time.sleep, seconds: float = START_SECONDS
) -> bool:
    """End a task; what has come is kept. Return whether it ran. Raises FloorError where it does not end."""
    found = pid(task, root)
    if not found:
        return False
    with suppress(ProcessLookupError):
        os.kill(found, signal.SIGTERM)
    for _ in range(int(seconds / POLL)):
        if pid(task, root) != found:
            return True
        sleep(POLL)
    raise FloorError(f"process {found} of {unit(task)} does not end; see `systemctl status {unit(task)}`")
