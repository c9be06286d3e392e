"""The proxy box: real nginx and the real pool service, and what that says of each copy."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from floor.box import paths
from floor.errors import FloorError

from .processes import run, running
from .site import MODEL, Site, nginx_program

LOOK = 0.01  # seconds between two looks at the pool's state


@dataclass(frozen=True)
class Proxy:
    """What the pool tells, read from its state file as `floor status` reads it."""

    site: Site
    processes: Mapping[str, asyncio.subprocess.Process]

    def backends(self) -> dict[str, Any]:
        """Each backend as the pool sees it; empty before it has looked for the first time."""
        return dict(self._state().get("pools", {}).get(MODEL, {}).get("backends", {}))

    def members(self) -> set[str] | None:
        """The backends that nginx uses now; None while some of its workers still use others."""
        nginx = self._state().get("nginx")
        if nginx is None or nginx["settled"] < nginx["generation"]:
            return None
        return {name for name, entry in self.backends().items() if entry["member"]}

    async def until(self, holds: Callable[[set[str]], bool], seconds: float, what: str) -> float:
        """Wait until the members are so, and return the monotonic time then. Raise FloorError after `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.alive()
            members = self.members()
            if members is not None and holds(members):
                return time.monotonic()
            await asyncio.sleep(LOOK)
        raise FloorError(f"{what}: not within {seconds:g} s")

    async def newer(self) -> None:
        """Wait for a report of the pool on what happens from now on: it looks twice a second, and reports every 2 s."""
        now = time.time() + self.site.config.health.interval
        while self._state().get("at", 0.0) < now:
            self.alive()
            await asyncio.sleep(LOOK)

    async def answers(self) -> None:
        """Wait until nginx takes connections. Raise FloorError if it does not."""
        for _ in range(500):
            self.alive()
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.site.config.listen(MODEL))
            except OSError:
                await asyncio.sleep(LOOK)
                continue
            writer.close()
            return
        raise FloorError("nginx does not take connections")

    def alive(self) -> None:
        """Raise FloorError if nginx or the pool has ended."""
        for name, process in self.processes.items():
            if process.returncode is not None:
                raise FloorError(f"{name} has ended with {process.returncode}")

    def _state(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.site.place(self.site.proxy, paths.POOL_STATE).read_text()))
        except FileNotFoundError:
            return {}


@asynccontextmanager
async def proxy(site: Site) -> AsyncIterator[Proxy]:
    """Test nginx's configuration, run nginx and the pool; on leaving, both are gone. Raise FloorError if one fails."""
    root, log = site.roots[site.proxy], site.folder / "proxy.log"
    nginx = [str(nginx_program()), "-e", "stderr", "-c", str(site.place(site.proxy, paths.NGINX_CONF))]
    pool = [sys.executable, "-I", "-m", "floor.pool", "--root", str(root)]
    await run([*pool, "--empty"], log)
    await run([*nginx, "-t", "-q"], log)
    reload = shlex.join([*nginx, "-s", "reload"])
    async with running([*nginx, "-g", "daemon off;"], log) as front, running([*pool, "--reload", reload], log) as back:
        found = Proxy(site, {"nginx": front, "floor-pool": back})
        await found.answers()
        yield found
