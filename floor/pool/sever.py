"""Ends this box's connections to a backend that is gone for good: power, cable.

Nothing tells nginx that such a box is gone: a request in flight waited over a minute, and one sent on a connection from
the keep-alive pool 20 s (measured). `ss -K` (sock_diag's SOCK_DESTROY) ends both at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from floor.errors import FloorError

_TIMEOUT = 5.0  # seconds; ss takes 5 ms


@dataclass(frozen=True)
class Severed:
    """How many connections there were, and how many are left after they were ended."""

    before: int
    after: int


async def sever(address: str, port: int) -> Severed:
    """Given an IP address and a port, end every TCP connection from this box to it, those being opened too.

    Raise FloorError if that cannot be done: ss is missing, no CAP_NET_ADMIN, or a kernel without INET_DIAG_DESTROY.
    """
    before = await count(address, port)
    if before:
        await _ss(("-K",), address, port)
    after = await count(address, port) if before else 0
    if before and after >= before:
        raise FloorError(
            f"{after} connections to {address}:{port} cannot be ended; "
            "floor-pool needs CAP_NET_ADMIN and a kernel with CONFIG_INET_DIAG_DESTROY"
        )
    return Severed(before, after)


async def count(address: str, port: int) -> int:
    """Given an IP address and a port, return how many TCP connections this box has to it."""
    return len((await _ss((), address, port)).splitlines())


async def _ss(what: tuple[str, ...], address: str, port: int) -> str:
    literal = f"[{address}]" if ":" in address else address
    # A connection in time-wait is over already, and cannot be ended.
    states = ("state", "connected", "exclude", "time-wait")
    argv = ("ss", *what, "-Htn", *states, "dst", literal, "dport", "=", f":{port}")
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
    except OSError as error:
        raise FloorError(f"`{' '.join(argv)}`: {error.strerror}; install iproute2 on this box") from error
    try:
        out, err = await asyncio.wait_for(process.communicate(), _TIMEOUT)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise FloorError(f"`{' '.join(argv)}`: no end after {_TIMEOUT:g} s; connections may hang") from None
    if process.returncode:
        raise FloorError(f"`{' '.join(argv)}`: {err.decode('utf-8', 'replace').strip():.300}")
    return out.decode("utf-8", "replace")
