"""Stands in for systemd: runs the rendered launch of a copy, warms it up, and starts it again when it dies."""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from floor.agent.status_facts import Facts
from floor.agent.status_http import Port
from floor.box import paths
from floor.box.units import UnitFacts
from floor.config.hosts import netloc
from floor.desired.copies import settings_path
from floor.desired.state import Kind, Unit

from .processes import running
from .site import MODEL, Site


class CopyUnit:
    """One copy under the stand-in. `address` is HOST:PORT, `facts` what systemd would say of it, `pid` its engine's.

    `warm_at` is the monotonic time when it last became active.
    """

    def __init__(self, site: Site, box: str, restart: float) -> None:
        self._site, self.box, self._restart = site, box, restart
        self._unit = next(unit for unit in site.states[box].units if unit.kind is Kind.COPY)
        resolved = next(copy for copy in site.config.copies(MODEL) if copy.box == box)
        self.backend = resolved.backend
        self.address = netloc(site.config.boxes[box].host, resolved.port)
        self.log = site.folder / f"{box}.log"
        self.facts = _facts(self._unit)
        self.pid = 0
        self.warm_at = 0.0

    async def run(self) -> None:
        """Start it, and start it again whenever it has ended, until cancelled."""
        while True:
            await self._once()
            self._say("activating", "auto-restart", result="signal")
            await asyncio.sleep(self._restart)

    async def _once(self) -> None:
        """One life of the engine, from its start to its end."""
        self._say("activating", "start-post", result="success", invocation=uuid.uuid4().hex)
        env = {**self._unit.launch.env, "VLLM_API_KEY": self._site.keys["engine"]}
        async with running(self._unit.launch.argv, self.log, env) as engine:
            self.pid = engine.pid
            settings = self._site.place(self.box, Path(settings_path(MODEL)))
            warm = [sys.executable, "-I", "-m", "floor.agent.warm", str(settings)]
            async with running(warm, self.log, {"MAINPID": str(engine.pid)}) as warming:
                if await warming.wait():
                    return
            self.warm_at = time.monotonic()
            self._say("active", "running")
            await engine.wait()

    def _say(self, active: str, sub: str, **more: str) -> None:
        self.facts = replace(self.facts, active=active, sub=sub, **more)  # type: ignore[arg-type]


def _facts(unit: Unit) -> UnitFacts:
    return UnitFacts(
        name=unit.name,
        load="loaded",
        active="inactive",
        sub="dead",
        enabled="enabled",
        result="success",
        main_pid=0,
        invocation="",
        fragment=str(paths.UNITS / unit.name),
        dropins=(),
        needs_reload=False,
        restarts=0,
        since=None,
        active_since=None,
        started=None,
        ended=None,
        killed=False,
        cgroup="",
        conflicts=(),
    )


@asynccontextmanager
async def status_port(site: Site, copy: CopyUnit) -> AsyncIterator[None]:
    """The real status port of the copy's box, told of units by the stand-in."""

    def show(_names: Sequence[str]) -> dict[str, UnitFacts]:
        return {copy.facts.name: copy.facts}

    facts = Facts([copy.facts.name], site.roots[copy.box], time.monotonic, show)
    port = Port((site.keys["status"],), facts)
    where = site.config.boxes[copy.box]
    server = await asyncio.start_server(port.answer, where.host, where.status_port, limit=port.head_limit)
    try:
        yield
    finally:
        server.close()


@asynccontextmanager
async def started(copy: CopyUnit) -> AsyncIterator[None]:
    """Run a copy in the background; on leaving, its engine is gone."""
    task = asyncio.create_task(copy.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
