"""Harm to this process itself: an end without a word, a child that outlives it, memory it does not give back."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import time
from pathlib import Path

from floor.errors import UsageError

ORPHAN_NAME = "VLLM::EngineCore"
_PR_SET_NAME = 15  # prctl(2)


def die(code: int | None) -> None:
    """Exit at once with `code`, or by SIGKILL when it is None. Nothing is flushed or closed."""
    if code is None:
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        os._exit(code)


def hog(mib: int) -> bytearray:
    """`mib` MiB of memory that is really used: every page written. Raises UsageError when there is not so much."""
    try:
        memory = bytearray(mib * 2**20)
    except MemoryError:
        raise UsageError(f"fault memory: {mib} MiB are not to be had; take less") from None
    for page in range(0, len(memory), 4096):
        memory[page] = 1
    return memory


def lock_device(path: str) -> int | None:
    """Lock the file that stands for the device; the descriptor, or None while another process holds it.

    Raises UsageError when there can be no such file.
    """
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def open_device(path: str) -> None:
    """Open the file that stands for the device, and let it go again; whoever holds it does not notice.

    Raises UsageError when it cannot be opened, as after a change of the driver.
    """
    os.close(_open(path))


def orphan(lifetime: float, lock: str, port: int, device: int | None = None) -> int:
    """Fork a child named as vLLM's engine process, which lives `lifetime` seconds whatever becomes of this one.

    It holds `lock` (a file, "" for none), listens on `port` of 127.0.0.1 (0 for none), and keeps `device`, the
    descriptor of the device's lock, so that no other engine gets it. Returns its pid. Raises UsageError when the file
    cannot be had, or the port is taken.
    """
    held = _open(lock) if lock else None
    listener = _listen(port) if port else None
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for it: the kernel clears it away
    child = os.fork()
    if child:
        if held is not None:
            os.close(held)
        if listener is not None:
            listener.close()
        return child
    try:
        _live_on(lifetime, held, {held, device, listener.fileno() if listener else None})
    finally:
        os._exit(0)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise UsageError(f"{path}: cannot be locked: {error.strerror}; name a file in a folder that exists") from None


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise UsageError(f"fault orphan: port {port} of 127.0.0.1 is not to be had: {error}") from None


def _live_on(lifetime: float, lock: int | None, keep: set[int | None]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd")]:  # noqa: PTH208  # names, not paths
        if descriptor > 2 and descriptor not in keep:
            with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
                os.close(descriptor)
    _rename(ORPHAN_NAME)
    if lock is not None:
        fcntl.flock(lock, fcntl.LOCK_EX)
    time.sleep(lifetime)


def _rename(name: str) -> None:
    """Be called `name` in ps, by both of a process's names: comm, and the words of its command line."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    # The 48th and 49th fields of proc(5)'s stat: where the kernel reads the command line from.
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    if 0 < start < end:
        ctypes.memmove(start, name.encode()[: end - start].ljust(end - start, b"\0"), end - start)
