"""Asks the engines of this box, all at once and in bounded time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from floor.box import paths
from floor.errors import FloorError
from floor.healthcheck.check import examine
from floor.healthcheck.client import make_client
from floor.healthcheck.load import Load
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Verdict

from .settings import Copy

TIMEOUT = 8.0  # seconds for one engine: an idle one makes a token in far less, and the next run comes soon
WINDOW = 3.0  # seconds in which a busy one is looked at again until its counts move

Answers = dict[str, tuple[Verdict, Load | None]]


def ask(copies: Sequence[Copy], key_file: Path, root: Path = paths.ROOT) -> Answers:
    """Given copies of this box and where the engine key lies, return verdict and counts by unit.

    One that cannot be asked (its dialect is not known, its key is not there) is left out: nothing is decided on it.
    """
    return asyncio.run(_ask(copies, key_file, root)) if copies else {}


async def _ask(copies: Sequence[Copy], key_file: Path, root: Path) -> Answers:
    async with make_client() as client:

        async def one(copy: Copy) -> tuple[Verdict, Load | None]:
            target = Target(
                name=copy.backend,
                url=copy.url,
                model=copy.model,
                dialect=copy.dialect,
                key=_key(paths.under(root, key_file)) if copy.key else None,
                stall=copy.stall,
            )
            history, verdict = await examine(client, target, timeout=TIMEOUT, window=WINDOW, clock=time.monotonic)
            return verdict, history.load

        found = await asyncio.gather(*(one(copy) for copy in copies), return_exceptions=True)
    answers: Answers = {}
    for copy, answer in zip(copies, found, strict=True):
        if isinstance(answer, BaseException):
            if not isinstance(answer, FloorError):
                raise answer
        else:
            answers[copy.unit] = answer
    return answers


def _key(place: Path) -> str:
    try:
        return place.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: the engine key cannot be read ({error}); `floor deploy` makes it") from error
