"""The proxy box: real nginx and the real pool service, and what that says of each copy."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.errors import FloorError

from .processes import last_words, run, running
from .site import MODEL, Site, nginx_program

LOOK = 0.01  # seconds between two looks at the pool's state


@dataclass(frozen=True)
class Proxy:
    """What the pool tells, read from its state file as `floor status` reads it."""

    site: Site
    state_file: Path
    log: Path

    def backends(self) -> dict[str, Any]:
        """Each backend as the pool sees it; empty before it has looked for the first time."""
        try:
            return dict(json.loads(self.state_file.read_text())["pools"][MODEL]["backends"])
        except FileNotFoundError:
            return {}

    def members(self) -> set[str]:
        """The backends that nginx uses now."""
        return {name for name, entry in self.backends().items() if entry["member"]}

    async def until(self, holds: Callable[[set[str]], bool], seconds: float, what: str) -> float:
        """Wait until the members are so, and return the monotonic time then. Raise FloorError after `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if holds(self.members()):
                return time.monotonic()
            await asyncio.sleep(LOOK)
        raise FloorError(f"{what}: not within {seconds:g} s; {last_words(self.log)}")


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
        await _answers(site, log, (front, back))
        yield Proxy(site, site.place(site.proxy, paths.POOL_STATE), log)


async def _answers(site: Site, log: Path, processes: Sequence[asyncio.subprocess.Process]) -> None:
    """Wait until nginx takes connections."""
    for _ in range(500):
        if any(process.returncode is not None for process in processes):
            raise FloorError(f"nginx or floor-pool ended: {last_words(log)}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", site.config.listen(MODEL))
        except OSError:
            await asyncio.sleep(LOOK)
            continue
        writer.close()
        return
    raise FloorError(f"nginx does not take connections: {last_words(log)}")
