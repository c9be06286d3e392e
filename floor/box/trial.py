"""Runs a process that proves an engine's next start, bounded so that the engine that serves does not notice."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from floor.box import containers, memory, paths
from floor.box.command import Run
from floor.errors import FloorError
from floor.sizes import gib

SLACK = 1 << 30  # bytes that must be free beyond what it may take
TOLD = 4000  # characters of its output that are told


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    user: str,
    container: str | None,
    most: int,
    seconds: int,
    root: Path = paths.ROOT,
    run: Run,
) -> dict[str, Any]:
    """Given a command line, its environment and user (or the container that it runs in), the bytes and the seconds that
    it may take, return {code, out, err, skipped, late}. `run` waits longer than `seconds`.

    It is not tried where memory is short: on a box whose GPU shares it, another process could take the engine's.
    """
    free = memory.read(root).available
    if free is not None and free < most + SLACK:
        return _ended(skipped=f"only {gib(free)} of memory are free")
    # systemd puts variables in the place of `$NAME` in what it starts (systemd.service(5)); `$$` is a dollar sign
    plain = [word.replace("$", "$$") for word in argv]
    words = list(argv) if container else [*_bounded(env, user, most, seconds), "--", *plain]
    began = time.monotonic()
    try:
        if container:  # of a trial whose caller went away
            containers.remove(container, run)
        result = run(words)
    except FloorError:
        return _ended(late=True)
    finally:
        if container:
            containers.remove(container, run)
    if not result.ok and time.monotonic() - began >= seconds:
        return _ended(late=True)  # systemd ended it, by RuntimeMaxSec
    return _ended(code=result.code if result.code is not None else 127, out=result.out, err=result.err)


def _bounded(env: Mapping[str, str], user: str, most: int, seconds: int) -> list[str]:
    """A unit of its own for the time: the kernel takes it before anything else, and it ends with its time."""
    properties = {
        "User": user,
        "MemoryMax": str(most),
        "MemorySwapMax": "0",
        "RuntimeMaxSec": str(seconds),
        "OOMScoreAdjust": "1000",
        "Nice": "19",
        "PrivateTmp": "yes",
        "NoNewPrivileges": "yes",
        "WorkingDirectory": "/",
    }
    words = ["systemd-run", "--quiet", "--wait", "--pipe", "--collect"]
    words += [f"--property={name}={value}" for name, value in properties.items()]
    return words + [f"--setenv={name}={value}" for name, value in sorted(env.items())]


def _ended(code: int = 0, out: str = "", err: str = "", skipped: str = "", *, late: bool = False) -> dict[str, Any]:
    return {"code": code, "out": out[-TOLD:], "err": err[-TOLD:], "skipped": skipped, "late": late}
