"""Restarting both copies one after another under load takes nothing away from anybody."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from floor.box import paths
from floor.pool.nginx import Processes
from tests.integration.pool.load import Load
from tests.integration.pool.stage import BACKENDS, Stage

STREAMS = 30


async def when(what: object, seconds: float = 20.0) -> None:
    assert callable(what)
    ends = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < ends, f"not so within {seconds} s"
        await asyncio.sleep(0.02)


async def restart(stage: Stage, name: str, load: Load) -> None:
    """As a rolling restart does it: drain, wait for nginx and the engine, stop, start, warm, undrain."""
    engine, box = stage.engines[name], stage.boxes[name[-1]]
    processes = Processes(stage.root / str(paths.NGINX_PID).lstrip("/"))
    for copy in stage.engines.values():
        copy.fault("slow", rate=4)  # the streams last until the pool has acknowledged the drain
    load.stream(STREAMS, tokens=60)
    await when(lambda: load.open == STREAMS)
    before = {worker.pid for worker in processes.workers(processes.master()) if not worker.leaving}
    stage.drain(name)
    await when(lambda: stage.state()["acknowledged"].get(name))
    accepting = {worker.pid for worker in processes.workers(processes.master()) if not worker.leaving}
    assert not accepting & before, "acknowledged while a worker with the old members takes requests"
    assert load.open == STREAMS, "every stream spans the drain"
    for copy in stage.engines.values():
        copy.clear("slow")
    await when(lambda: not (engine.state()["running"] or engine.state()["waiting"]))
    await asyncio.to_thread(engine.kill)
    box.unit("activating", "run-2", "start-post")
    await asyncio.to_thread(engine.start)
    stage.undrain(name)
    box.unit("active", "run-2")
    await when(lambda: stage.members() == list(BACKENDS))


def test_a_rolling_restart_of_both_copies_loses_no_request(tmp_path: Path) -> None:
    asyncio.run(rolling_restart(tmp_path))


async def rolling_restart(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        stage.await_members(*BACKENDS)
        before = stage.reloads()
        async with Load(stage.port, shorts=8) as load:
            for name in BACKENDS:
                await restart(stage, name, load)
            await when(lambda: load.ended >= 500)
        assert load.failed == []
        assert load.ended >= 500
        assert stage.reloads() == before + 4
