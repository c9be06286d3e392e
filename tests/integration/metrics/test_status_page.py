"""The status page as nginx gets it, over its socket; and what boxes answer or do not."""

from __future__ import annotations

import asyncio
import json
import stat
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.box.notify import Notifier
from floor.healthcheck.client import make_client
from floor.metrics.boxes import Boxes
from floor.metrics.here import Here
from floor.metrics.service import Service
from floor.metrics.settings import Backend, Settings
from floor.metrics.status_page import PATHS
from tests.integration.metrics.conftest import BUSY, Serve, answers, sends

STATUS = json.dumps({"units": {"floor-pool.service": {"active": "active"}}, "mode": "replicas"}).encode()
POOL = {"pools": {"m": {"backends": {"m@a": {"member": True, "reason": "ok", "evidence": "generates"}}}}}


async def served(does: Serve) -> tuple[asyncio.Server, int]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await does(reader, writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


@asynccontextmanager
async def page(root: Path) -> AsyncIterator[Callable[[str], Any]]:
    """A service with a page; yields what asks it for a path."""
    engine, engine_port = await served(answers(BUSY))
    box, box_port = await served(answers(STATUS))
    (root / "run/floor/metrics").mkdir(parents=True)
    state = paths.under(root, paths.POOL_STATE)
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({**POOL, "at": time.time()}))
    backends = (Backend("m@a", f"http://127.0.0.1:{engine_port}", "a", "m", "vllm", False),)
    boxes = {"a": f"http://127.0.0.1:{box_port}/status"}
    wanted = Settings("a", "127.0.0.1", None, 0.3, None, True, backends, True, boxes)
    here = Here(wanted, root, gpus=("no-such-program",), journal=("true",))
    service = Service(wanted, (), here, make_client(), root, print, status_keys=("the-key",))
    running = asyncio.create_task(service.run(Notifier({})))

    async def get(path: str) -> tuple[int, str, bytes]:
        reader, writer = await asyncio.open_unix_connection(paths.under(root, paths.METRICS_SOCKET))
        writer.write(f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
        raw = await reader.read()
        writer.close()
        head, _, body = raw.partition(b"\r\n\r\n")
        kind = next(line for line in head.decode().splitlines() if line.startswith("Content-Type"))
        return int(head.split()[1]), kind.partition(": ")[2], body

    try:
        for _ in range(200):
            if paths.under(root, paths.METRICS_SOCKET).exists():
                break
            await asyncio.sleep(0.02)
        yield get
    finally:
        service.stop()
        await running
        for server in (engine, box):
            server.close()


async def until(get: Callable[[str], Any], so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    ends = time.monotonic() + 20
    while True:
        found = json.loads((await get("/floor/now.json"))[2])
        if so(found):
            return dict(found)
        assert time.monotonic() < ends, found
        await asyncio.sleep(0.1)


def test_every_file_and_both_documents(tmp_path: Path) -> None:
    async def run() -> None:
        async with page(tmp_path) as get:
            place = paths.under(tmp_path, paths.METRICS_SOCKET)
            assert stat.S_IMODE(place.stat().st_mode) == 0o660
            kinds = {path: (await get(path))[:2] for path in PATHS}
            assert {status for status, _ in kinds.values()} == {200}
            assert kinds["/floor/"][1] == "text/html; charset=utf-8"
            assert kinds["/floor/page.js"][1] == "text/javascript; charset=utf-8"
            assert kinds["/floor/now.json"][1] == "application/json"
            assert (await get("/metrics"))[0] == 404  # the socket shows the page, and nothing else
            found = await until(get, lambda one: one["boxes"]["a"]["up"] and one["copies"][0]["metrics"] == "")
            assert found["copies"][0]["copy"] == "m@a"
            assert found["models"]["m"]["members"] == 1
            assert found["boxes"]["a"]["mode"] == "replicas"
            hour = json.loads((await get("/floor/hour.json"))[2])
            assert set(hour["series"]) == {"model:m", "copy:m@a"}

    asyncio.run(run())
    kept = json.loads(paths.under(tmp_path, paths.METRICS_HOUR).read_text())
    assert set(kept["series"]) == {"model:m", "copy:m@a"}


def test_what_a_box_answers_costs_only_itself() -> None:
    cases: dict[str, tuple[Serve, str]] = {
        "well": (answers(STATUS), ""),
        "old": (answers(b"{}", "404 Not Found"), "an older release of floor runs there"),
        "stranger": (answers(b"{}", "401 Unauthorized"), "answers 401"),
        "html": (answers(b"<html>"), "is no answer of a status port"),
        "endless": (sends(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536, 0.001), "is no answer of a status port"),
        "slow": (sends(b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.2), "had not ended after 2.0 s"),
    }

    async def run() -> dict[str, str]:
        servers = {name: await served(does) for name, (does, _) in cases.items()}
        where = {name: f"http://127.0.0.1:{port}/status" for name, (_, port) in servers.items()}
        where["gone"] = "http://127.0.0.1:1/status"
        async with make_client() as client:
            boxes = Boxes(where, ("first", "second"), client, time.monotonic)
            await asyncio.gather(*(boxes.look(name) for name in where))
        for server, _ in servers.values():
            server.close()
        return {name: box.why for name, box in boxes.seen.items()}

    found = asyncio.run(run())
    for name, (_, why) in cases.items():
        assert why in found[name], name
        assert bool(why) == bool(found[name]), name
    assert "refused" in found["gone"]
