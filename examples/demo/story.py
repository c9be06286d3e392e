"""The story: two copies come up, answer, one is killed under load and comes back, and what that cost is counted."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import AsyncExitStack

import httpx

from floor.config.hosts import netloc

from .clients import Tally, steady, words
from .journal import Journal, journal
from .proxy import Proxy, proxy
from .show import Teller, table
from .site import MODEL, Site, make_site
from .units import CopyUnit, started, status_port

STREAMS = 12  # at once: six for each copy, as many as one of them takes when it is alone
BEFORE, AFTER = 3.0, 3.0  # seconds under load before the kill, and after both serve again
STARTING, OUT = 25.0, 5.0  # seconds that may pass until both copies are warm, and until a dead one is out
VICTIM = "spark-b"


async def tell() -> int:
    """Tell it. Return 0 where everything held, 1 where a figure is not what floor promises."""
    teller = Teller()
    teller.more("floor demo: two simulated copies behind real nginx, on this machine, without a GPU\n")
    with make_site() as site:
        async with AsyncExitStack() as stack:
            log = await stack.enter_async_context(journal(site.journal))
            front = await stack.enter_async_context(proxy(site))
            files = sum(len(state.files) for state in site.states.values())
            teller.say(f"floor.yaml became {files} files for {len(site.states)} boxes; nginx and floor-pool run")
            client = await stack.enter_async_context(
                httpx.AsyncClient(base_url=site.url, trust_env=False, timeout=30, limits=httpx.Limits())
            )
            copies = [CopyUnit(site, box) for box in site.states]
            for box, copy in zip(site.states, copies, strict=True):
                await stack.enter_async_context(status_port(site, box, copy))
                await stack.enter_async_context(started(copy))
            await come_up(teller, client, front)
            table(front, copies)
            await answer(teller, client)
            told = await kill_under_load(teller, client, front, log, copies)
            table(front, copies)
    for line in told:
        teller.more(line)
    teller.more(f"\nEverything was ended and removed after {teller.seconds:.0f} s.")
    return 0


async def come_up(teller: Teller, client: httpx.AsyncClient, front: Proxy) -> None:
    """Nobody is there yet, and clients are told so properly; then both copies are warm."""
    early = await client.get("/v1/models")
    again = early.headers.get("Retry-After")
    teller.say(f"a client asks already: {early.status_code}, Retry-After {again}; while nobody is there, never a 502")
    await front.until(lambda members: len(members) == len(front.site.states), STARTING, "both copies in the pool")
    teller.say("both copies have loaded, generate, are warmed up, and are in the pool")


async def answer(teller: Teller, client: httpx.AsyncClient) -> None:
    """One chat, shown as it comes."""
    teller.say("a chat through the proxy, each word as it comes:")
    began, times = time.monotonic(), []
    teller.more("         ", end="")
    async for word in words(client, "Tell me about the factory floor.", 40):
        times.append(time.monotonic())
        teller.more(word, end="")
    teller.more("")
    first, last = times[0] - began, times[-1] - began
    teller.say(f"first word after {first:.2f} s, {len(times)} of them in {last:.1f} s")


async def kill_under_load(
    teller: Teller, client: httpx.AsyncClient, front: Proxy, log: Journal, copies: list[CopyUnit]
) -> list[str]:
    """Kill a copy under load, wait until it is back, and return what that cost as lines."""
    victim = next(copy for copy in copies if copy.backend == f"{MODEL}@{VICTIM}")
    async with steady(client, STREAMS) as tally:
        teller.say(f"{STREAMS} clients stream without a break; none of them tries again")
        await asyncio.sleep(BEFORE)
        killed = time.monotonic()
        os.kill(victim.pid, signal.SIGKILL)
        teller.say(f"{victim.backend} is killed (SIGKILL)")
        out = await front.until(lambda members: victim.backend not in members, OUT, "the dead copy out of the pool")
        teller.say(f"it is out of the pool, {out - killed:.2f} s after its death; the other one carries all")
        table(front, copies)
        back = await front.until(lambda members: victim.backend in members, STARTING, "the copy back in the pool")
        teller.say(f"it was started again and is back, {back - victim.warm_at:.2f} s after its warm-up ended")
        await asyncio.sleep(AFTER)
        address = _address(front.site)
        lost = log.ended_on(address, killed - 0.1, 1.0)
    return report(tally, lost, log.passed_on(address, killed))


def report(tally: Tally, lost: int, passed_on: int) -> list[str]:
    """What it cost, in lines."""
    return [
        f"requests    {len(tally.outcomes)}, all streamed",
        f"answered    {len(tally.whole)}; {passed_on} of them found the dead copy and were answered by the other one",
        f"failed      {len(tally.failed)}; on the dead copy were {lost}",
        f"502         {tally.count(502)}",
    ]


def _address(site: Site) -> str:
    """The victim as nginx logs it."""
    port = next(copy.port for copy in site.config.copies(MODEL) if copy.box == VICTIM)
    return netloc(site.config.boxes[VICTIM].host, port)
