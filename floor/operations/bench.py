"""`floor bench`: load with rising numbers of requests at once, on a pool or on any address."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from floor.bench import drive, knee, run
from floor.bench.level import Level
from floor.bench.traffic import Request, built_in, read
from floor.config import edit
from floor.config.hosts import netloc
from floor.config.model import Config, ResolvedCopy
from floor.config.problem import KeyPath
from floor.errors import FloorError, UsageError
from floor.operations import own_file

SEED = 20  # of the repetitions that tell how sure an advice is: the same run gives the same answer


@dataclass(frozen=True)
class Plan:
    """What is measured: where, with which requests, at which levels, for how many seconds each."""

    url: str
    model: str
    key: str | None
    requests: tuple[Request, ...]
    traffic: str
    levels: tuple[float, ...]
    seconds: float
    open_loop: bool = False

    @property
    def setting(self) -> dict[str, object]:
        """All that makes two runs comparable; the key is no part of it."""
        how = "open" if self.open_loop else "closed"
        return {"url": self.url, "model": self.model, "traffic": self.traffic, "seconds": self.seconds, "loop": how}


def target(config: Config, model: str | None) -> tuple[str, str]:
    """Given the config and what the person named, return model and address of its pool: the first proxy box's port.
    Raise UsageError where there is no such model, or more than one to choose from."""
    known = list(config.models)
    if model is None and len(known) > 1:
        raise UsageError(f"there are {len(known)} models; name one of {', '.join(known)}")
    name = model or known[0]
    if name not in config.models:
        raise UsageError(f"{name}: there is no such model; there are {', '.join(known)}")
    box = config.boxes[config.proxy.boxes[0]]
    scheme = "https" if config.proxy.tls else "http"
    return name, f"{scheme}://{netloc(box.host, config.listen(name))}"


def traffic(mix: str, file: Path | None) -> tuple[tuple[Request, ...], str]:
    """The requests to send, and the word for them. Raise UsageError for a mix or a file that is none."""
    if file is None:
        return built_in(mix), mix
    try:
        return read(file.read_text(), str(file)), str(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error})") from error


def measure(plan: Plan, place: Path, say: Callable[[str], None]) -> tuple[run.Run, str]:
    """Carry out a plan, go on with what `place` holds of it, and say each level as it is done.

    Return the run and why it stopped early. Raise UsageError where another run lies in `place`, FloorError where no
    request got an answer.
    """
    before = run.former(place, dict(plan.setting))

    async def all_levels() -> tuple[run.Run, str]:
        numbers = itertools.count(int(time.time()) % 1_000_000 * 1000)  # no prompt is one of an earlier run
        async with drive.make_client(plan.key) as client:

            async def one(at: float) -> Level:
                say(f"measuring {at:g} {'a second' if plan.open_loop else 'at once'} for {plan.seconds:g} s")
                how = (plan.url, plan.model, plan.requests, at, plan.seconds)
                return await drive.level(client, *how, open_loop=plan.open_loop, numbers=numbers)

            return await run.sweep(before, plan.levels, one, partial(_done, place, say))

    found, why = asyncio.run(all_levels())
    if found.levels and not any(level.rate for level in found.levels):
        raise FloorError(f"{plan.url}: no request got an answer: {found.levels[0].error or 'none ended in time'}")
    return found, why


def kept(found: run.Run, level: Level, place: Path, say: Callable[[str], None]) -> run.Run:
    """The run with one level more, which is kept in `place`."""
    grown = run.grown(found, level)
    _done(place, say, grown)
    return grown


def _done(place: Path, say: Callable[[str], None], found: run.Run) -> None:
    run.save(place, found)
    say(f"{len(found.levels)} levels measured, kept in {place}")


def advise(levels: Sequence[Level], first_token: float | None) -> knee.Advice:
    """What to choose. The same levels give the same answer."""
    return knee.advise(levels, random.Random(SEED).randrange, first_token)  # noqa: S311 -- noise, no secret


def cap(config: Config, model: str, at: float, copies: int | None = None) -> int:
    """Given what is advised for so many copies (None: for a whole pool), return the max_requests of each."""
    return max(1, math.ceil(at / (copies or max(1, len(config.copies(model))))))


def beyond(copies: Sequence[ResolvedCopy], levels: Sequence[float], say: Callable[[str], None]) -> None:
    """Say where levels are more than the copies take at once: what is beyond that waits in the engine's queue."""
    each = [one.max_requests for one in copies]
    known = [most for most in each if most is not None]
    if known and len(known) == len(each) and max(levels) > sum(known):
        say(
            f"more than {sum(known)} at once wait in the engine's queue (max_requests of {copies[0].model}); to "
            "measure beyond that, deploy a higher max_requests first"
        )


def place(config: Config, copy: ResolvedCopy) -> KeyPath:
    """Where the max_requests of a copy, or a group, stands in floor.yaml: its own if it has one, else the model's."""
    model = config.models[copy.model]
    if model.split is not None and copy in config.parts(copy.model):
        return ("models", copy.model, "split", "max_requests")
    own = next((at for at, one in enumerate(model.replicas) if one.box == copy.box and one.max_requests), None)
    return ("models", copy.model, *(() if own is None else ("replicas", own)), "max_requests")


def write(path: Path, where: KeyPath, most: int) -> str:
    """Put `most` into floor.yaml at `where`, and return the difference.

    Raise ConfigError if it cannot be changed alone, FloorError if it cannot be written.
    """
    before = path.read_text()
    after = edit.set_value(before, where, most, str(path))
    if after != before:
        own_file.write(path, after)
    return edit.diff(before, after, str(path))
