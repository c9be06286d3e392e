"""Processes that cannot outlive the demo: each leads a group of its own, which is ended as a whole."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from floor.errors import FloorError

PATIENCE = 3.0  # seconds between asking a group to end and ending it


@asynccontextmanager
async def running(
    argv: Sequence[str], log: Path, env: Mapping[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program with its output in `log`; on leaving, it and all that it started are gone."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    _signal(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), PATIENCE)
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


async def run(argv: Sequence[str], log: Path) -> None:
    """Run a program to its end. Raise FloorError with its last words where it fails."""
    async with running(argv, log) as process:
        if await process.wait():
            raise FloorError(f"`{' '.join(argv)}` failed: {last_words(log)}")


def last_words(log: Path) -> str:
    """The end of what a program wrote, empty if it was silent."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return " / ".join(lines[-4:])
