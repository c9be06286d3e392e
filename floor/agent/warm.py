"""`python -I -m floor.agent.warm /etc/floor/engines/MODEL.json`: ends when the engine generates and is warm.

It is the ExecStartPost of a copy's unit, so that the unit's `active` means warm. `$MAINPID` is the engine: when that is
gone, waiting is over at once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from floor.agent.warm_up import Engine, warm_up
from floor.agent.warm_wait import until_it_generates
from floor.box import alive, paths, starts
from floor.box.document import Document
from floor.box.observe import LAUNCH
from floor.errors import FloorError
from floor.healthcheck.client import make_client
from floor.healthcheck.probe import look
from floor.healthcheck.sample import Sample
from floor.healthcheck.target import Target

# Seconds of the unit's start time that are left to systemd: a failure of ours tells what was found, its time-out does
# not. A tenth of a short start time.
MARGIN = 30.0
ALIVE_EVERY = 0.5  # seconds between two looks whether the engine's process is still there
PROBE_TIMEOUT = 5.0  # seconds for one look; a loading engine is slow to answer, and nobody waits for this one

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What to wait for, how long at most (seconds), and the engine's context in tokens (None: it says itself).

    `card`: it must not run on the processor where the box has a card."""

    target: Target
    deadline: float
    context: int | None
    card: bool = False


def load(path: Path, root: Path = paths.ROOT) -> Settings:
    """Given the settings file of an engine, return what it says. Raise FloorError naming what is wrong."""
    document = Document.load(path)
    key = None
    if document.has("key_file"):
        place = paths.under(root, document.path("key_file"))
        # While the key is being replaced, the engine was started with the one that follows.
        place = following if (following := place.with_suffix(".next")).exists() else place
        try:
            key = place.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise FloorError(f"{place}: the engine key cannot be read ({error}); `floor deploy` makes it") from error
    start_time = document.number("start_time")
    target = Target(
        name=document.text("backend"),
        url=document.text("url"),
        model=document.text("model"),
        dialect=document.text("dialect"),
        key=key,
        stall=document.number("stall"),
        probe_timeout=PROBE_TIMEOUT,
        min_speed=document.number("min_speed") if document.has("min_speed") else None,
        task=document.text("task") if document.has("task") else "generate",
    )
    context = document.whole("context") if document.has("context") else None
    return Settings(
        target, start_time - min(MARGIN, start_time / 10), context, document.has("card") and document.flag("card")
    )


async def warm(settings: Settings, main: Main) -> tuple[float, float]:
    """Wait for the engine, then warm it up. Return the seconds until it generated, and those of the warm-up.

    Raise FloorError saying why it will not become warm.
    """
    name, began = settings.target.name, time.monotonic()
    async with make_client() as client:
        try:
            async with asyncio.timeout(settings.deadline):
                await main.outlives(until_it_generates(client, settings.target, time.monotonic, asyncio.sleep, _log))
                generated = time.monotonic()
                _log(f"{name}: generates after {generated - began:.0f} s, warming up")
                engine = Engine(client, settings.target, settings.context)
                await main.outlives(warm_up(engine, time.monotonic, _log))
                if settings.card and shutil.which("nvidia-smi"):
                    on_card(name, await look(client, settings.target, clock=time.monotonic))
        except TimeoutError:
            raise FloorError(
                f"{name}: not warm after {settings.deadline:.0f} s; its log says why, or start_time is too short"
            ) from None
    ended = time.monotonic()
    _log(f"{name}: warm after {ended - began:.0f} s")
    return generated - began, ended - generated


def on_card(name: str, sample: Sample) -> None:
    """Given a look at an engine that has its model in memory, raise FloorError if no part of it is on a card."""
    if sample.load is not None and sample.load.on_card == 0:
        raise FloorError(
            f"{name}: it runs on the processor, though this box has a card; its log says why it found none, and in a "
            "container that needs none, gpus: none in the runtime"
        )


class Main:
    """The engine's main process, by `$MAINPID`; without one (started by hand) it counts as alive."""

    def __init__(self, environ: Mapping[str, str], proc: Path = Path("/proc")) -> None:
        pid = environ.get("MAINPID", "")
        self._pid = int(pid) if pid.isdigit() and int(pid) > 0 else None
        self._proc = proc
        self._started = self._look()

    def age(self) -> float:
        """For how many seconds the process has been there; 0 where it is not known."""
        return 0.0 if self._pid is None else alive.age(self._pid, self._proc)

    def alive(self) -> bool:
        """Whether the very process that there was at the start is still there; a pid can be used again."""
        return self._pid is None or (self._started is not None and self._look() == self._started)

    async def outlives(self, work: Awaitable[T]) -> T:
        """Return what `work` returns. Raise FloorError as soon as the engine is gone."""
        task = asyncio.ensure_future(work)
        try:
            while True:
                done, _ = await asyncio.wait([task], timeout=ALIVE_EVERY)
                if done:
                    return task.result()
                if not self.alive():
                    raise FloorError(
                        f"the engine (process {self._pid}) ended while it was waited for; its log says why"
                    )
        finally:
            task.cancel()

    def _look(self) -> str | None:
        return alive.began(str(self._pid), self._proc)


def _note(backend: str, seconds: float, warmed: float) -> None:
    """Keep how long it took, for whoever wants to know what the next start will take. An engine that is warm stays so
    where that cannot be written."""
    try:
        starts.started(backend, launch=os.environ.get(LAUNCH, ""), seconds=seconds, warm=warmed, at=time.time())
    except FloorError as error:
        _log(f"{backend}: how long it took is not kept: {error}")


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, wait and warm up. Return the exit code: 0 when the engine is warm."""
    parser = argparse.ArgumentParser(prog="python -m floor.agent.warm", description=__doc__)
    parser.add_argument("settings", type=Path, help="/etc/floor/engines/MODEL.json")
    options = parser.parse_args(argv)
    try:
        settings = load(options.settings)
        engine = Main(os.environ)
        before = engine.age()
        seconds, warmed = asyncio.run(warm(settings, engine))
        _note(settings.target.name, before + seconds, warmed)
    except FloorError as error:
        _log(f"floor-warm: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
