"""The process: load, listen, serve by uvicorn, and end the way vLLM ends."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn

from floor.errors import FloorError
from floor.sim import crash, startlog
from floor.sim.app import App
from floor.sim.control import PREFIX
from floor.sim.settings import Settings
from floor.sim.simulator import Simulator

Write = Callable[[str], None]


def new_id() -> str:
    """Sixteen hex digits, no two alike."""
    return os.urandom(8).hex()


def bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: connections are refused, but the port is taken.

    vLLM binds before it loads, too. It also sets SO_REUSEPORT, which is left out here: two simulated engines on one
    port must not go unnoticed. Raises FloorError when the address is not to be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise FloorError(f"cannot listen on {host or '*'}:{port}: {error}; is another engine on that port?") from None
    return bound


def _not_control(record: logging.LogRecord) -> bool:
    """Whether an access-log line is about a client's request: orders of a test are none of vLLM's."""
    return not (isinstance(record.args, tuple) and len(record.args) > 2 and str(record.args[2]).startswith(PREFIX))


class Listener:
    """One uvicorn server on one address, whose listening socket can be shut and opened again."""

    def __init__(self, app: App, host: str, port: int, access_log: bool) -> None:
        config = uvicorn.Config(
            app,  # type: ignore[arg-type]  # plain ASGI; uvicorn's own type wants typed dicts
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            proxy_headers=False,  # a client is who is connected: faults close its connection by that
            access_log=access_log,
            use_colors=False,
        )
        logging.getLogger("uvicorn.access").addFilter(_not_control)
        self.server = uvicorn.Server(config)
        self.address = host, port
        self.bound: socket.socket | None = bind(host, port)
        self.open = False
        self._ticks: asyncio.Task[None] | None = None

    async def listen(self) -> None:
        """Accept from now on. Raises FloorError when the port was taken meanwhile."""
        server = self.server
        if self._ticks is None:
            server.config.load()
            server.lifespan = server.config.lifespan_class(server.config)
            await server.on_tick(0)  # fills in the date header
            self._ticks = asyncio.create_task(server.main_loop())
        await server.startup(sockets=[self.bound or bind(*self.address)])
        self.bound, self.open = None, True

    def shut(self) -> None:
        """Refuse new connections, close idle ones, and let the others end with their answer."""
        self.open = False
        if self.bound is not None:
            self.bound.close()
        for server in getattr(self.server, "servers", []):
            server.close()
        for connection in list(self.server.server_state.connections):
            connection.shutdown()

    def cut(self, client: tuple[str, int] | None = None) -> None:
        """Close connections as they stand: one client's, or all."""
        for connection in list(self.server.server_state.connections):
            if client is None or connection.client == client:
                connection.transport.close()  # type: ignore[union-attr]  # only HTTP ones are made: ws="none"

    async def emptied(self) -> None:
        """Wait until no connection is left."""
        while self.server.server_state.connections:
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        self.shut()
        self.cut()
        if self._ticks is not None:
            self.server.should_exit = True
            await self._ticks


class Process:
    """What `Simulator` needs of the outside (its `Doors`), and the order of events in a process's life."""

    def __init__(self, settings: Settings, write: Write) -> None:
        self.settings = settings
        self.write = write
        self.sim = Simulator(settings, self, new_id)
        self.app = App(self.sim)
        self.main: Listener | None = None
        self._opening: set[asyncio.Task[None]] = set()
        self._wanted = False

    def shut(self, cut: bool) -> None:
        self._wanted = False
        if self.main is not None and self.main.open:
            self.main.shut()
            if cut:
                self.main.cut()

    def reopen(self) -> None:
        self._wanted = True
        if self.main is not None and self.sim.ready and not self.main.open and not self._opening:
            task = asyncio.ensure_future(self.main.listen())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)

    def drop(self, client: tuple[str, int] | None) -> None:
        if self.main is not None:
            self.main.cut(client)

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT. Returns the exit code."""
        settings, simulation = self.settings, self.settings.simulation
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        listeners = []
        if simulation.control_port is not None:
            control = Listener(self.app, simulation.control_host, simulation.control_port, settings.access_log)
            listeners.append(control)
            await control.listen()
        if not settings.headless:
            self.main = Listener(self.app, settings.host, settings.port, settings.access_log)
            listeners.append(self.main)
        if await self._load(stop):
            await stop.wait()
            await self._finish_requests()
        for listener in listeners:
            await listener.close()
        self.write("INFO:     Application shutdown complete.")
        return 0

    async def _load(self, stop: asyncio.Event) -> bool:
        """Take the device, and the time a load takes. False when told to stop meanwhile."""
        lock = self.settings.simulation.device_lock
        if lock is not None:
            self.sim.device = crash.lock_device(lock)
            if self.sim.device is None:
                share = self.settings.gpu_memory_utilization
                raise FloorError(
                    f"Free memory on device cuda:0 (0.5/119.7 GiB) on startup is less than desired GPU memory "
                    f"utilization ({share}, {share * 119.7:.2f} GiB). Decrease GPU memory utilization or reduce GPU "
                    f"memory used by other processes. ({lock} is locked by another process)"
                )
        for line in startlog.before(self.settings):
            self.write(line)
        if self.main is not None and self.settings.simulation.load_mode == "503":
            await self.main.listen()
        if self.settings.load_time:
            try:
                await asyncio.wait_for(stop.wait(), self.settings.load_time)
            except TimeoutError:
                pass
            else:
                return False
        for line in startlog.after(self.settings):
            self.write(line)
        self.sim.ready = True
        for fault in self.settings.simulation.fault:
            self.sim.put(fault)
        refused = self.sim.faults.get("refuse", self.sim.now())
        if self.main is not None and refused is None and not self.main.open:
            await self.main.listen()
        self.write("INFO:     Application startup complete.")
        return True

    async def _finish_requests(self) -> None:
        """As vLLM on SIGTERM: streams are cut at once, unless --shutdown-timeout gives them time."""
        if self.main is None:
            return
        self.write("INFO:     Shutting down")
        self.main.shut()
        if self.settings.shutdown_timeout > 0:
            try:
                await asyncio.wait_for(self.main.emptied(), self.settings.shutdown_timeout)
            except TimeoutError:
                self.write("WARNING:  requests were still running after the shutdown timeout; they are cut")
        self.main.cut()
        self.sim.engine.abort_all()


def serve(settings: Settings) -> int:
    """Run one engine in this process until it is stopped. Returns its exit code; raises FloorError if it cannot start."""
    return asyncio.run(Process(settings, _to_stderr).run())


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
