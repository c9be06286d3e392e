"""A port of this machine, seen from a box: an ssh of its own that carries it there for as long as it is open."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from floor.apply import ssh, words
from floor.apply.transport import LOCAL
from floor.errors import BoxError

PATIENCE = 20.0  # seconds for ssh to say which port it got
POLL = 0.05


def argv(box: str, destination: str, port: int) -> list[str]:
    """Given a box and a port of this machine, return the ssh that offers it on the box's loopback, at any free port.

    Not through the shared connection: that outlives this command, and the port with it.
    """
    config = os.environ.get("FLOOR_SSH_CONFIG")
    wanted = {
        "BatchMode": "yes",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ExitOnForwardFailure": "yes",
        "LogLevel": "INFO",  # at which it says the port
        "ConnectTimeout": "10",
        "ServerAliveInterval": "3",
        "ServerAliveCountMax": "3",
    }
    options = [word for key, value in wanted.items() for word in ("-o", f"{key}={value}")]
    forward = ["-N", "-R", f"127.0.0.1:0:127.0.0.1:{port}"]
    return ["ssh", *(["-F", config] if config else []), *options, *forward, "--", ssh.target(box, destination)]


@contextmanager
def reverse(box: str, destination: str, port: int) -> Iterator[int]:
    """Offer a port of this machine on a box's loopback, and yield the port that it has there. Raises BoxError."""
    if destination == LOCAL:
        yield port
        return
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            argv(box, destination, port),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        try:
            yield _allocated(box, destination, process, said.fileno())
        finally:
            process.terminate()
            process.wait()


def _allocated(box: str, destination: str, process: subprocess.Popen[bytes], said: int) -> int:
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        text = os.pread(said, 65536, 0).decode(errors="replace")
        if found := re.search(r"Allocated port (\d+)", text):
            return int(found[1])
        if process.poll() is not None:
            if process.returncode == 255 and "forward" not in text:
                raise words.of_ssh(box, destination, 255, text)
            raise BoxError(
                f"{box}: its sshd offers no port of this machine there ({words.last(text)}); "
                "see AllowTcpForwarding in its sshd_config"
            )
        time.sleep(POLL)
    raise BoxError(f"{box}: ssh does not say which port it got there ({words.last(text) or 'nothing was printed'})")
