"""The process: load, listen, serve, and end the way vLLM ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from floor.errors import FloorError
from floor.sim import crash, startlog
from floor.sim.app import App
from floor.sim.kinds import KINDS
from floor.sim.listener import Listener
from floor.sim.ranks import Ranks
from floor.sim.settings import Settings
from floor.sim.simulator import Simulator

Write = Callable[[str], None]


def new_id() -> str:
    """Sixteen hex digits, no two alike."""
    return os.urandom(8).hex()


MEASURED = 0.7  # of a load, until the weights are in and the cache is measured out; the rest is for CUDA graphs


class Process:
    """What `Simulator` needs of the outside (its `Doors`), and the order of events in a process's life."""

    def __init__(self, settings: Settings, write: Write) -> None:
        self.settings = settings
        self.write = write
        self.sim = Simulator(settings, self, new_id)
        self.main: Listener | None = None
        self._control: Listener | None = None
        self._stop = asyncio.Event()
        self._refusing = False
        self._opening: asyncio.Task[None] | None = None
        self._failure: FloorError | None = None
        self._ranks = Ranks(settings, self.sim, new_id, write) if settings.nnodes > 1 else None

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT, and return 0. Raises FloorError when it cannot start or listen."""
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        await self._open_listeners()
        if await self._load():
            await self._stop.wait()
            await self._finish_requests()
        if self.main is not None:
            self.main.shut()
        if self._ranks is not None:
            await self._ranks.close()
        for listener in (self.main, self._control):
            if listener is not None:
                await listener.close()
        if self._failure is not None:
            raise self._failure
        self.write("INFO:     Application shutdown complete.")
        return 0

    def shut(self, cut: bool) -> None:
        self._refusing = True
        if self.main is not None and self.main.open:
            self.main.shut()
            if cut:
                self.main.cut()

    def reopen(self) -> None:
        self._refusing = False
        shut = self.main is not None and not self.main.open
        if shut and self.sim.loaded and self._opening is None and not self._stop.is_set():
            self._opening = asyncio.create_task(self._reopen())

    async def settled(self) -> None:
        if self._opening is not None:
            await self._opening

    def drop(self, client: tuple[str, int] | None) -> None:
        if self.main is not None:
            self.main.cut(client)

    async def _reopen(self) -> None:
        """Listen, if that is still wanted once there is time for it."""
        try:
            if self.main is not None and not self.main.open:
                await self.main.listen()
                if self._refusing:
                    self.main.shut()
        except FloorError as error:
            self._failure = error
            self._stop.set()
        finally:
            self._opening = None

    async def _open_listeners(self) -> None:
        """Take the ports, as vLLM does before it loads. A worker of a group (--headless) has none."""
        settings, simulation = self.settings, self.settings.simulation
        app = App(self.sim)
        if simulation.control_port is not None:
            address = simulation.control_host, simulation.control_port
            self._control = Listener(app, address, settings.access_log)
            await self._control.listen()
        if not settings.headless:
            self.main = Listener(app, (settings.host, settings.port), settings.access_log, banner=app.kind.banner)
            if settings.loads_open:
                await self.main.listen()

    async def _load(self) -> bool:
        """Take the device, and the time a load takes. False when told to stop meanwhile."""
        self._check_memory()
        for line in startlog.before(self.settings):
            self.write(line)
        seconds = self.settings.start_time
        if await self._stopped_before_all_met() or await self._stopped_within(seconds * MEASURED):
            return False
        for line in startlog.measured(self.settings):
            self.write(line)
        if await self._stopped_within(seconds * (1 - MEASURED)):
            return False
        for line in startlog.after(self.settings):
            self.write(line)
        for fault in self.settings.simulation.fault:
            self.sim.put(fault)
        self.sim.loaded = True
        if not self._refusing:
            self.reopen()
            await self.settled()
        if self._failure is None:
            self.sim.ready = True
            self.write("INFO:     Application startup complete.")
        return True

    async def _stopped_before_all_met(self) -> bool:
        """Wait for the other ranks of a group."""
        if self._ranks is None:
            return False
        meeting, told = asyncio.create_task(self._ranks.meet()), asyncio.create_task(self._stop.wait())
        await asyncio.wait([meeting, told], return_when=asyncio.FIRST_COMPLETED)
        for task in (meeting, told):
            task.cancel()
        await asyncio.gather(meeting, told, return_exceptions=True)
        if meeting.done() and not meeting.cancelled() and (error := meeting.exception()):
            raise error
        self.sim.world = self._ranks.world
        return self._stop.is_set()

    async def _stopped_within(self, seconds: float) -> bool:
        if seconds <= 0:
            return False
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _check_memory(self) -> None:
        """Fail as vLLM does when the device is taken, or the cache too small for one request."""
        settings, lock = self.settings, self.settings.simulation.device_lock
        if settings.kv_tokens < settings.max_model_len:
            raise FloorError(
                f"To serve at least one request with the model's max seq len ({settings.max_model_len}), more KV cache "
                f"is needed than there is ({settings.kv_tokens} tokens). Increase --gpu-memory-utilization or decrease "
                "--max-model-len."
            )
        if lock is None:
            return
        self.sim.device = crash.lock_device(lock)
        if self.sim.device is None:
            share, total = settings.gpu_memory_utilization, 119.7
            raise FloorError(
                f"Free memory on device cuda:0 (0.5/{total} GiB) on startup is less than desired GPU memory "
                f"utilization ({share}, {share * total:.2f} GiB). Decrease GPU memory utilization or reduce GPU "
                f"memory used by other processes. ({lock} is locked by another process)"
            )

    async def _finish_requests(self) -> None:
        """As a real vLLM 0.32 on SIGTERM (tried): it takes no more generations, but goes on answering everything else.

        What runs gets --shutdown-timeout to end. What still runs then, ends in an error: a last event, or a 500.
        """
        self.sim.stopping = True
        if not KINDS[self.settings.simulation.dialect].drains:
            # llama.cpp and Ollama end what runs at once: its connections are cut.
            if self.main is not None:
                self.main.cut()
            self.sim.engine.abort_all()
            return
        timeout = self.settings.shutdown_timeout
        mode = "drain" if timeout else "abort"
        self.write(f"INFO:     [shutdown] API server: stopping engine client mode={mode} timeout={timeout:g}s")
        await self.sim.engine.idle_within(timeout)
        self.sim.engine.abort_all()
        self.write("INFO:     Shutting down")


def serve(settings: Settings) -> int:
    """Run one engine in this process until it is stopped, and return 0. Raises FloorError if it cannot start."""
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    return await Process(settings, _to_stderr).run()


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
