"""What is told of this box beside its copies: memory, cards, the pool, what floor did, and the proxy's requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from floor.box import paths

from . import machine, standing
from .happened import Happened
from .settings import Settings
from .traffic import Traffic
from .values import Family

GPU_EVERY = 15.0  # seconds; nvidia-smi takes up to a second
GPU_TIMEOUT = 10.0
AGAIN = 5.0  # seconds before the journal is followed anew
LONGEST = 65536  # bytes of a line of the log
GPUS = ("nvidia-smi", f"--query-gpu={','.join(machine.GPU_FIELDS)}", "--format=csv,noheader,nounits")
# The lines that nginx writes for each request, from now on. The journal knows their unit itself: the name alone is one
# that any user of the box can log under.
UNIT = "_SYSTEMD_UNIT=floor-proxy.service"
JOURNAL = ("journalctl", "--follow", "--lines=0", "--output=cat", "--quiet", "--identifier=floor_proxy", UNIT)


class Here:
    """Given the settings, the root of all paths and the commands that tell of cards and requests."""

    def __init__(
        self,
        settings: Settings,
        root: Path,
        *,
        gpus: Sequence[str] = GPUS,
        journal: Sequence[str] = JOURNAL,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._root, self._wall = settings, root, wall
        self._gpus, self._journal = gpus, journal
        self._cards: list[Family] = []
        self._happened = Happened(paths.under(root, paths.EVENTS))
        self._happened.skip()
        words = {word: one.name for one in settings.backends for word in one.servers}
        self._traffic = Traffic(words) if settings.proxy else None

    def families(self) -> list[Family]:
        """All of it, as it is known now."""
        self._happened.look()
        found = [*machine.box(self._settings.box, self._root), *self._cards, *self._happened.families()]
        found += standing.families(self._root, self._wall())
        if self._traffic is not None:
            found += machine.pool(paths.under(self._root, machine.STATE), self._wall())
            found += self._traffic.families()
        return found

    async def run(self, stop: asyncio.Event) -> None:
        """Go on asking for cards, and following the proxy's log, until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._ask_cards(stop))
            if self._traffic is not None:
                group.create_task(self._follow(self._traffic, stop))

    async def _ask_cards(self, stop: asyncio.Event) -> None:
        """A box without the driver's program has no cards, and is not asked again."""
        while not stop.is_set():
            try:
                process = await _start(self._gpus)
            except OSError:
                return
            try:
                async with asyncio.timeout(GPU_TIMEOUT):
                    out, _ = await process.communicate()
                self._cards = machine.gpus(out.decode("utf-8", "replace"), self._settings.box)
            except TimeoutError:
                self._cards = []  # the driver hangs: nothing is known of the cards
            finally:
                await _end(process)
            await _sleep(stop, GPU_EVERY)

    async def _follow(self, traffic: Traffic, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                process = await _start(self._journal)
            except OSError:
                return
            try:
                assert process.stdout is not None  # noqa: S101 -- it was asked for
                while line := await _line(process.stdout):
                    traffic.take(line.decode("utf-8", "replace"))
            finally:
                await _end(process)
            await _sleep(stop, AGAIN)


async def _start(argv: Sequence[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LONGEST,
    )


async def _line(stream: asyncio.StreamReader) -> bytes:
    """Return the next line, what can be had of one that is too long, and nothing at the end."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await stream.readexactly(error.consumed)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
