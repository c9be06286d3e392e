"""`floor bench`: load with rising numbers of requests at once, on a pool or on any address."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from floor.bench import drive, knee, run
from floor.bench.level import Level
from floor.bench.traffic import Request, built_in, digest, read
from floor.config.hosts import netloc
from floor.config.model import Config, ResolvedCopy
from floor.errors import FloorError, UsageError

BUSY = 0.8  # of one processor's time; asking uses one
SEED = 20  # of the repetitions that tell how sure an advice is: the same run gives the same answer


@dataclass(frozen=True)
class Plan:
    """What is measured: where, with which requests, at which levels, for how many seconds each.

    `caps` are the max_requests of those who answer, where floor.yaml tells: what was measured under another one waited
    in another queue. `certificate`: a file with the one that is shown there, where no known authority made it.
    """

    url: str
    model: str
    key: str | None
    requests: tuple[Request, ...]
    traffic: str
    levels: tuple[float, ...]
    seconds: float
    open_loop: bool = False
    caps: tuple[int | None, ...] = ()
    certificate: Path | None = None

    def words(self, at: float) -> str:
        """What is measured next, and how much there is of it."""
        every = sorted(set(self.levels))
        unit = "a second" if self.open_loop else "at once"
        return f"measuring {at:g} {unit} for {self.seconds:g} s, {every.index(at) + 1} of {len(every)}"

    @property
    def setting(self) -> dict[str, object]:
        """All that makes two runs comparable; the key is no part of it."""
        how = "open" if self.open_loop else "closed"
        told = {"url": self.url, "model": self.model, "traffic": self.traffic, "seconds": self.seconds, "loop": how}
        caps = {"max_requests": list(self.caps)} if self.caps else {}
        return {**told, "content": digest(self.requests), **caps}


def target(config: Config, model: str | None) -> tuple[str, str]:
    """Given the config and what the person named, return model and address of its pool: the first proxy box's port.
    Raise UsageError where there is no such model, or more than one to choose from."""
    known = list(config.models)
    if model is None and len(known) > 1:
        raise UsageError(f"there are {len(known)} models; name one of {', '.join(known)}")
    name = model or known[0]
    if name not in config.models:
        raise UsageError(f"{name}: there is no such model; there are {', '.join(known)}")
    generates(config, name)
    box = config.boxes[config.proxy.boxes[0]]
    scheme = "https" if config.proxy.tls else "http"
    return name, f"{scheme}://{netloc(box.host, config.listen(name))}"


def generates(config: Config, model: str) -> None:
    """Raise UsageError for a model that makes no text: there are no tokens to count."""
    if config.models[model].task != "generate":
        raise UsageError(f"{model}: has task {config.models[model].task}; floor bench measures what generates text")


def address(url: str) -> str:
    """Given what stands behind --url, return it as paths of the API go behind it. Raise UsageError where none can."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or parts.query or parts.fragment:
        raise UsageError(f"--url {url}: write http://HOST:PORT, or https://HOST, and nothing of what is asked there")
    if "@" in parts.netloc:
        raise UsageError("--url: holds a user or a key, which would be kept with the run; a key goes into --key-file")
    return url.rstrip("/").removesuffix("/v1")


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
    before = former(plan, place, say)

    async def all_levels() -> tuple[run.Run, str]:
        numbers = itertools.count(int(time.time()) % 1_000_000 * 1000)  # no prompt is one of an earlier run
        async with drive.make_client(plan.key, plan.certificate) as client:

            async def one(at: float) -> Level:
                say(plan.words(at))
                how = (plan.url, plan.model, plan.requests, at, plan.seconds)
                found = await drive.level(client, *how, open_loop=plan.open_loop, numbers=numbers)
                slowed(found, say)
                return found

            return await run.sweep(before, plan.levels, one, partial(_done, place, say))

    found, why = asyncio.run(all_levels())
    if found.levels and not any(level.rate for level in found.levels):
        raise FloorError(f"{plan.url}: no request got an answer: {found.levels[0].error or 'none ended in time'}")
    repeated(plan, found, say)
    return found, worded(why, open_loop=plan.open_loop)


def former(plan: Plan, place: Path, say: Callable[[str], None]) -> run.Run:
    """What `place` holds of this plan, of which is said how old it is. Raise UsageError where it is another run's."""
    found = run.former(place, dict(plan.setting))
    if found.levels:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(place.stat().st_mtime))
        at = ", ".join(f"{level.at:g}" for level in found.levels)
        say(f"{place} has {at} from {when}; to measure these anew, name another file with --out")
    return found


def repeated(plan: Plan, found: run.Run, say: Callable[[str], None]) -> None:
    """Say where requests of one's own came again: the engine's cache knows their prompts, and makes them cheap."""
    sent, own = sum(level.requests for level in found.levels), len(plan.requests)
    if sent > own and not plan.requests[0].numbered:
        say(f"{plan.traffic} holds {own} requests, of which {sent} were sent: the cache knew those that came again")


def kept(found: run.Run, level: Level, place: Path, say: Callable[[str], None]) -> run.Run:
    """The run with one level more, which is kept in `place`."""
    slowed(level, say)
    grown = run.grown(found, level)
    _done(place, say, grown)
    return grown


def _done(place: Path, say: Callable[[str], None], found: run.Run) -> None:
    run.save(place, found)
    say(f"{len(found.levels)} {'level' if len(found.levels) == 1 else 'levels'} measured, kept in {place}")


def slowed(level: Level, say: Callable[[str], None]) -> None:
    """Say where who asked was as busy as one processor can be: then it may be what was measured."""
    if level.busy > BUSY:
        say(
            f"asking took {level.busy:.0%} of a processor: more may be there than was measured; ask from a faster "
            "machine"
        )


def advise(levels: Sequence[Level], first_token: float | None, *, open_loop: bool = False) -> knee.Advice:
    """What to choose. The same levels give the same answer."""
    found = knee.advise(levels, random.Random(SEED).randrange, first_token)  # noqa: S311 -- noise, no secret
    return replace(found, why=worded(found.why, open_loop=open_loop))


def worded(text: str, *, open_loop: bool) -> str:
    """A text of a run in the words of its loop: levels of an open one are requests a second."""
    return text.replace(" at once", " a second") if open_loop else text


def beyond(copies: Sequence[ResolvedCopy], levels: Sequence[float], say: Callable[[str], None]) -> None:
    """Say where levels are more than the copies take at once: what is beyond that waits in the engine's queue."""
    each = [one.max_requests for one in copies]
    known = [most for most in each if most is not None]
    if known and len(known) == len(each) and max(levels) > sum(known):
        say(
            f"more than {sum(known)} at once wait in the engine's queue (max_requests of {copies[0].model}); to "
            "measure beyond that, deploy a higher max_requests first"
        )
