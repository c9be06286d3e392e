"""One uvicorn server on one address, whose listening socket can be shut and opened again."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from floor.errors import FloorError
from floor.sim.control import PREFIX

FLUSH_TIME = 0.5  # seconds that a client gets to read what was sent before a stop
Application = Callable[[Any, Any, Any], Awaitable[None]]


def bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: connections are refused, and a port that is served is noticed.

    vLLM binds before it loads, too. Raises FloorError when the address is not to be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, ValueError, OverflowError) as error:
        bound.close()
        raise _taken((host, port), error) from None
    return bound


def _taken(address: tuple[str, int], error: Exception) -> FloorError:
    host, port = address
    return FloorError(f"cannot listen on {host or '*'}:{port}: {error}; choose another --host or --port")


def _is_clients(record: logging.LogRecord) -> bool:
    """Whether an access-log line is about a client's request: a test's orders are none of vLLM's."""
    return not (isinstance(record.args, tuple) and len(record.args) > 2 and str(record.args[2]).startswith(PREFIX))


class Listener:
    """`address` is (host, port), bound at once; connections are refused until `listen`. `banner`: uvicorn's own."""

    def __init__(self, app: Application, address: tuple[str, int], access_log: bool, banner: bool = True) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",  # httptools, where it is installed, chunks even to HTTP/1.0: a broken proxy would look right
            ws="none",
            lifespan="off",
            proxy_headers=False,  # a client is who is connected: faults close its connection by that
            access_log=access_log,
            server_header=banner,
            date_header=banner,
            use_colors=False,
        )
        logging.getLogger("uvicorn.access").addFilter(_is_clients)
        self.open = False
        self._server = uvicorn.Server(config)
        self._address = address
        self._bound: socket.socket | None = bind(*address)
        self._ticks: asyncio.Task[None] | None = None

    async def listen(self) -> None:
        """Accept from now on. Raises FloorError when the port was taken while this one was shut."""
        server = self._server
        if self._ticks is None:
            server.config.load()
            server.lifespan = server.config.lifespan_class(server.config)
            await server.on_tick(0)  # fills in the date header
            self._ticks = asyncio.create_task(server.main_loop())
        try:
            await server.startup(sockets=[self._bound or bind(*self._address)])
        except OSError as error:  # another bound it during the load, and listened first
            raise _taken(self._address, error) from None
        self._bound, self.open = None, True

    def shut(self) -> None:
        """Refuse new connections, close idle ones, and let the others end with their answer."""
        self._refuse()
        for connection in self._connections():
            connection.shutdown()

    def cut(self, client: tuple[str, int] | None = None) -> None:
        """Close connections as they stand: one client's, or all."""
        for connection in self._connections():
            if client is None or connection.client == client:
                connection.transport.close()

    async def _emptied_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._emptied(), seconds)
        except TimeoutError:
            return False
        return True

    async def _emptied(self) -> None:
        """Wait until no connection and no request is left."""
        state = self._server.server_state
        while state.connections or state.tasks:  # noqa: ASYNC110  # uvicorn signals nothing, and waits so itself
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Refuse, let answers on their way arrive, cut what is left, and end once its requests have noticed."""
        self._refuse()
        if not await self._emptied_within(FLUSH_TIME):
            self.cut()
        if not await self._emptied_within(FLUSH_TIME):
            for connection in self._connections():
                connection.transport.abort()
            await self._emptied()
        if self._ticks is not None:
            self._server.should_exit = True
            await self._ticks

    def _refuse(self) -> None:
        self.open = False
        if self._bound is not None:
            self._bound.close()
            self._bound = None
        for server in getattr(self._server, "servers", []):
            server.close()

    def _connections(self) -> list[H11Protocol]:
        return [c for c in self._server.server_state.connections if isinstance(c, H11Protocol)]
