"""A copy that leaves: the real program of its unit, a real pool and nginx, and clients that never retry."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from floor.box import paths
from tests.integration.pool.load import Load
from tests.integration.pool.stage import BACKENDS, MODEL, UNIT, Stage
from tests.integration.pool.test_rolling import when

A, B = BACKENDS
STREAMS = 10
# What systemctl says while a shutdown waits for the copies: the proxy has its stop queued.
REFUSES = """#!/bin/sh
echo "Failed to reload floor-proxy.service: Transaction for floor-proxy.service/reload is destructive (…)." >&2
exit 1
"""


def leave(stage: Stage, invocation: str) -> subprocess.Popen[str]:
    """Start what systemd starts before it stops the copy on box b."""
    root, port = stage.boxes["b"].root, stage.boxes["a"].port
    engine = {"backend": B, "url": stage.engines[B].url, "model": MODEL, "dialect": "vllm", "key_file": None}
    proxies = [{"box": "a", "status_url": f"http://127.0.0.1:{port}/status"}]
    settings = root / "engine.json"
    settings.write_text(json.dumps(engine))
    found = {"status_key_file": str(paths.STATUS_KEY), "proxies": proxies}
    paths.under(root, paths.LEAVE_SETTINGS).write_text(json.dumps(found))
    argv = [sys.executable, "-I", "-m", "floor.agent.leave", UNIT, str(settings), "--within", "30", "--root", str(root)]
    environ = os.environ | {"MAINPID": str(stage.engines[B].pid), "INVOCATION_ID": invocation}
    return subprocess.Popen(argv, env=environ, stderr=subprocess.PIPE, text=True)


def test_it_leaves_the_pool_and_finishes_before_it_is_stopped(stage: Stage) -> None:
    """As at a shutdown of the proxy's own box, when systemd reloads nothing any more."""
    before = stage.reload.read_text()
    stage.reload.write_text(REFUSES)
    try:
        asyncio.run(stopped(stage))
    finally:
        stage.reload.write_text(before)


async def stopped(stage: Stage) -> None:
    engine, box = stage.engines[B], stage.boxes["b"]
    box.unit("active", "run-leaves")
    async with Load(stage.port, shorts=6) as load:
        for copy in stage.engines.values():
            copy.fault("slow", rate=20)
        load.stream(STREAMS, tokens=40)
        await when(lambda: load.open == STREAMS)
        process = leave(stage, "run-leaves")
        box.unit("deactivating", "run-leaves", "stop")
        await when(lambda: stage.state()["acknowledged"].get(B))
        assert process.poll() is None, "it does not wait for what its engine still has"
        for copy in stage.engines.values():
            copy.clear("slow")
        _, said = await asyncio.to_thread(process.communicate, timeout=30)
        assert process.returncode == 0, said
        state = await asyncio.to_thread(engine.state)
        assert (state["running"], state["waiting"]) == (0, 0)
        await asyncio.to_thread(engine.kill)
        box.unit("inactive", "run-leaves", "dead")
        ended = load.ended
        await when(lambda: load.ended > ended + 20)
    assert stage.members() == [A]
    assert load.failed == []
    assert stage.state()["pools"][MODEL]["backends"][B]["reason"] in ("leaving", "unit inactive")
    assert f"{B}: leaves; waits for the pools of a\n" in said
    assert f"{B}: may be stopped, " in said
    await asyncio.to_thread(engine.start)
