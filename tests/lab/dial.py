"""Connections from the client's place in the lab's network, held by the test itself: chunks and paths as they are."""

from __future__ import annotations

import ctypes
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.integration.nginx.client import Client
from tests.lab.boxes import Lab

NAMESPACES = Path("/run/netns")  # of iproute2
NETWORK = 0x40000000  # CLONE_NEWNET of sched.h


def dial(lab: Lab, address: str, port: int, timeout: float = 30) -> socket.socket:
    """Return a connection that leaves from the client's namespace: a socket belongs to where it was made."""
    with ThreadPoolExecutor(1) as thread:  # a thread may enter another network and end there, alone
        return thread.submit(_dial, lab.client.wire.name, address, port, timeout).result()


def _dial(namespace: str, address: str, port: int, timeout: float) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(NAMESPACES / namespace, os.O_RDONLY)
    try:
        if libc.setns(handle, NETWORK) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")
    finally:
        os.close(handle)
    return socket.create_connection((address, port), timeout=timeout)


class Caller(Client):
    """One connection from the client to a port of a box."""

    def __init__(self, lab: Lab, box: str, port: int, timeout: float = 30) -> None:
        self._socket = dial(lab, lab.boxes[box].address, port, timeout)
        self._data = b""

    def send(self, target: str, body: bytes = b"", method: str = "POST", headers: tuple[str, ...] = ()) -> None:
        """As the client it is made of; a body is JSON, without which word vLLM refuses it."""
        super().send(target, body, method, (*headers, *(["Content-Type: application/json"] if body else [])))

    def fileno(self) -> int:
        """For select: readable when an answer, or the end of the connection, is there."""
        return self._socket.fileno()
