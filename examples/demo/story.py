"""The story: two copies come up, answer, one is killed under load and comes back, and what that cost is counted."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

import httpx
import psutil

from floor.errors import FloorError

from .clients import steady, words
from .journal import Journal, journal
from .outcome import DYING, Outcome, judge, lines
from .processes import last_words
from .proxy import Proxy, proxy
from .show import Teller, table
from .site import Site, make_site
from .tempo import Tempo
from .units import CopyUnit, started, status_port

STREAMS = 12  # at once: six for each copy, as many as one of them takes when it is alone
STARTING, OUT = 30.0, 6.0  # seconds that may pass until a copy is warm, and until a dead one is out
VICTIM = "spark-b"


async def tell(tempo: Tempo) -> int:
    """Tell it in that tempo. Return 0 where everything held, 1 where a figure is not what floor promises.

    Raise FloorError, with the last words of everything that ran, where the story cannot go on.
    """
    teller = Teller()
    teller.more("floor demo: two simulated copies behind real nginx, on this machine, without a GPU\n")
    with make_site(tempo) as site:
        try:
            outcome = await _play(teller, site, tempo)
        except FloorError as error:
            said = [f"  {log.name}: {words}" for log in sorted(site.folder.glob("*.log")) if (words := last_words(log))]
            raise FloorError("\n".join([str(error), *said])) from error
    for line in lines(outcome):
        teller.more(line)
    broken = judge(outcome)
    for line in broken:
        teller.more(f"NOT AS PROMISED: {line}")
    teller.more(f"\nall that was started is ended and removed, after {teller.seconds:.0f} s")
    return 1 if broken else 0


@dataclass(frozen=True)
class Scene:
    """Everything that takes part."""

    teller: Teller
    tempo: Tempo
    front: Proxy
    log: Journal
    copies: tuple[CopyUnit, ...]
    client: httpx.AsyncClient

    def table(self) -> None:
        table(self.front, self.copies)


async def _play(teller: Teller, site: Site, tempo: Tempo) -> Outcome:
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(journal(site.journal))
        front = await stack.enter_async_context(proxy(site))
        files = sum(len(state.files) for state in site.states.values())
        teller.say(f"floor.yaml became {files} files for {len(site.states)} boxes; nginx and floor-pool run")
        copies = tuple(CopyUnit(site, box, tempo.restart) for box in site.states)
        for copy in copies:
            await stack.enter_async_context(status_port(site, copy))
            await stack.enter_async_context(started(copy))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=site.url, trust_env=False, timeout=30))
        scene = Scene(teller, tempo, front, log, copies, client)
        await come_up(scene)
        scene.table()
        await answer(scene)
        outcome = await kill_under_load(scene, next(copy for copy in copies if copy.box == VICTIM))
        await front.newer()
        scene.table()
        return outcome


async def come_up(scene: Scene) -> None:
    """Nobody is there yet, and clients are told so properly; then both copies are warm."""
    early = await scene.client.get("/v1/models")
    again = early.headers.get("Retry-After")
    scene.teller.say(f"a client asks at once: {early.status_code}, Retry-After {again}; nobody is there yet, no 502")
    count = len(scene.copies)
    await scene.front.until(lambda members: len(members) == count, STARTING, "both copies in the pool")
    scene.teller.say("both copies have loaded, generated and warmed up, and are in the pool")


async def answer(scene: Scene) -> None:
    """One chat, shown as it comes."""
    scene.teller.say("a chat through the proxy, each made-up word as it comes:")
    began = time.monotonic()
    times = []
    scene.teller.more("        ", end="")
    async for word in words(scene.client, "Tell me about the factory floor.", 18):
        times.append(time.monotonic() - began)
        scene.teller.more(word, end="")
    scene.teller.more("")
    scene.teller.say(f"{len(times)} words: the first after {times[0]:.2f} s, the last after {times[-1]:.2f} s")


async def kill_under_load(scene: Scene, victim: CopyUnit) -> Outcome:
    """Kill a copy under load and wait until it is back. Return what that cost."""
    say, front, name = scene.teller.say, scene.front, victim.backend
    async with steady(scene.client, STREAMS) as tally:
        say(f"{STREAMS} clients stream without a break; none of them ever tries again")
        await asyncio.sleep(scene.tempo.under_load)
        killed = time.monotonic()
        os.kill(victim.pid, signal.SIGKILL)
        dead = await _death(victim.pid)
        say(f"{name} is killed (SIGKILL)")
        out = await front.until(lambda members: name not in members, OUT, "the dead copy out of the pool")
        say(f"it is out of the pool {out - killed:.2f} s after its death; the other one carries the load")
        scene.table()
        back = await front.until(lambda members: name in members, STARTING, "the copy back in the pool")
        again = f"started again after {scene.tempo.restart:g} s (on a box: 10 s)"
        say(f"{again}, loaded, warmed up: in the pool {back - victim.warm_at:.2f} s after that")
        await asyncio.sleep(scene.tempo.under_load)
    return Outcome(
        answers=tuple(tally.answers),
        killed=killed,
        dead=dead,
        out=out - killed,
        back=back - victim.warm_at,
        lost=scene.log.ended_on(victim.address, killed, within=DYING),
        passed_on=scene.log.passed_on(victim.address, killed),
        by_copy={copy.backend: scene.log.answered_by(copy.address) for copy in scene.copies},
    )


async def _death(pid: int) -> float:
    """Wait until a killed process has closed what it had; its port takes connections for a moment after the signal.

    Return the monotonic time then.
    """
    while True:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return time.monotonic()
        except psutil.NoSuchProcess:
            return time.monotonic()
        await asyncio.sleep(0.001)
