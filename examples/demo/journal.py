"""Stands in for journald: takes nginx's access log, which tells which copy each request went to."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import AF_UNIX
from typing import Any


@dataclass(frozen=True)
class Line:
    """One request as nginx logged it at its end; `upstreams` are the copies that it was sent to, in turn."""

    at: float
    status: int
    upstreams: tuple[str, ...]


@dataclass
class Journal(asyncio.DatagramProtocol):
    """Every request so far."""

    lines: list[Line] = field(default_factory=list)

    def datagram_received(self, data: bytes, addr: Any) -> None:  # noqa: ARG002 -- asyncio's own signature
        found = json.loads(data[data.index(b"{") :])
        upstreams = tuple(found["upstream"].replace(",", " ").split())
        self.lines.append(Line(time.monotonic(), int(found["status"]), upstreams))

    def answered_by(self, address: str) -> int:
        """How many requests had this copy as their last one."""
        return sum(1 for line in self.lines if line.upstreams[-1:] == (address,))

    def ended_on(self, address: str, since: float, within: float) -> int:
        """How many of those ended within so many seconds after a time."""
        return sum(1 for line in self.lines if line.upstreams[-1:] == (address,) and since <= line.at <= since + within)

    def passed_on(self, address: str, since: float) -> int:
        """How many requests found this copy refusing after a time, and went to another."""
        return sum(1 for line in self.lines if line.at >= since and address in line.upstreams[:-1])


@asynccontextmanager
async def journal(path: Path) -> AsyncIterator[Journal]:
    """Listen on the socket until left."""
    found = Journal()
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: found, local_addr=str(path), family=AF_UNIX
    )
    # Where this runs as root, nginx's workers are another user.
    path.chmod(0o666)  # noqa: ASYNC240 -- one call, before anything runs
    try:
        yield found
    finally:
        transport.close()
