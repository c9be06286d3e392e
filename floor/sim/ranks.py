"""The ranks of a group: how they meet, and what becomes of each when another is gone. As a real vLLM 0.32 (tried).

A head whose worker is gone answers 200 on /health until it is asked for a generation; that is a 500, and then it ends,
with status 0. A worker whose head is gone stays as it is, without a word, and keeps its memory. A rank that is left of
an earlier world makes a new head hang for ever. Where the way is cut and nobody ends, generations stand still.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from floor.errors import FloorError
from floor.sim.settings import Settings

AGAIN = 0.3  # seconds between two tries to reach the head
PING = 0.2  # seconds between two signs of life of the head
STALLED = 1.0  # seconds without an answer after which a generation stands still
_LIMIT = 1024  # bytes of a line

Write = Callable[[str], None]


class Effects(Protocol):
    """What becomes of the engine."""

    def lose(self) -> None:
        """A rank is gone for good."""

    def stall(self, stalled: bool) -> None:
        """The ranks do not hear each other, or hear each other again."""


class Ranks:
    """One rank of a group. `new_id` makes the name of a world; `world` is that which it is of, None before they met."""

    def __init__(self, settings: Settings, effects: Effects, new_id: Callable[[], str], write: Write) -> None:
        self._settings, self._effects, self._new_id, self._write = settings, effects, new_id, write
        self.world: str | None = None
        self.lost = False
        self._met = asyncio.Event()
        self._hung = False
        self._there: dict[int, asyncio.StreamWriter] = {}
        self._heard: dict[int, float] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    async def meet(self) -> None:
        """Return when all ranks are there, however long that takes. Raises FloorError if the port is not to be had."""
        place = self._settings.master_addr, self._settings.master_port
        self._write(
            f"INFO [parallel_state.py] world_size={self._settings.nnodes} rank={self._settings.node_rank} "
            f"distributed_init_method=tcp://{place[0]}:{place[1]} backend=gloo"
        )
        if self._settings.node_rank:
            self._tasks.append(asyncio.create_task(self._follow()))
        else:
            try:
                self._server = await asyncio.start_server(self._take, *place, limit=_LIMIT)
            except OSError as error:
                raise FloorError(f"{place[0]}:{place[1]}: the ranks cannot meet there: {error}") from None
        await self._met.wait()

    async def close(self) -> None:
        """Be gone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        for writer in self._there.values():
            writer.transport.abort()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The head's end of one rank's connection."""
        hello = await _line(reader)
        if hello is None:
            writer.transport.abort()
            return
        rank = int(hello["rank"])
        if hello["world"] is not None or rank in self._there or self.world is not None:
            # It is of another world: neither goes on, and nobody says so.
            self._hung = True
        self._there[rank], self._heard[rank] = writer, self._now()
        if not self._hung and len(self._there) == self._settings.nnodes - 1:
            self.world = self._new_id()
            for one in self._there.values():
                _say(one, {"world": self.world})
            self._met.set()
            self._tasks.append(asyncio.create_task(self._watch()))
        while await _line(reader) is not None:
            self._heard[rank] = self._now()
        self._lose()

    async def _watch(self) -> None:
        while True:
            for writer in self._there.values():
                _say(writer, {"ping": True})
            await asyncio.sleep(PING)
            self._effects.stall(any(self._now() - at > STALLED for at in self._heard.values()))

    async def _follow(self) -> None:
        """A worker's end: it looks for its head, and when that is gone for a head, again and again."""
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(
                    self._settings.master_addr, self._settings.master_port, limit=_LIMIT
                )
                try:
                    _say(writer, {"rank": self._settings.node_rank, "world": self.world})
                    await self._obey(reader, writer)
                finally:
                    writer.transport.abort()
            if self.world is not None:
                self.lost = True
            await asyncio.sleep(AGAIN)

    async def _obey(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (order := await _line(reader)) is not None:
            if "world" in order:
                self.world = str(order["world"])
                self._met.set()
            else:
                _say(writer, {"pong": True})

    def _lose(self) -> None:
        if self.world is None:
            self._hung = True  # it waits for one that has been here
        elif not self.lost:
            self.lost = True
            self._effects.lose()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


async def _line(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """What the other side says next; None when it is gone, or says what no rank says."""
    try:
        found = json.loads(await reader.readuntil(b"\n"))
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    return found if isinstance(found, dict) else None


def _say(writer: asyncio.StreamWriter, what: dict[str, Any]) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(what).encode() + b"\n")
