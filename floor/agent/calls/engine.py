"""The engine of a backend, asked directly from this box and with this box's key."""

from __future__ import annotations

import asyncio
from typing import Any

from floor.agent.call import Call
from floor.box import facts, processes, secrets
from floor.errors import FloorError


def check(call: Call) -> dict[str, Any]:
    """{backend, url, model, dialect, task, key, stall, min_speed, timeout} → the verdict as JSON."""
    from floor.healthcheck.check import check as ask
    from floor.healthcheck.client import make_client
    from floor.healthcheck.report import document

    async def once() -> dict[str, Any]:
        async with make_client() as client:
            return document(await ask(client, _target(call), timeout=call.params.timeout()))

    return asyncio.run(once())


def idle(call: Call) -> dict[str, Any]:
    """{backend, url, model, dialect, key, timeout} → {idle, running, waiting, connections, reason}.

    Idle is what the engine's own counts say: a client may keep a connection open without a request. Where it has no
    counts its connections decide; where nobody listens nothing is left to finish. `reason` says so then.
    """
    return dict(call.until(lambda: _idle(call)))


def _idle(call: Call) -> tuple[bool, dict[str, Any]]:
    from floor.healthcheck.client import make_client
    from floor.healthcheck.probe import look
    from floor.healthcheck.sample import Fault

    target = _target(call)

    async def once() -> Any:
        async with make_client() as client:
            return await look(client, target, clock=call.clock)

    sample = asyncio.run(once())
    load = sample.load
    running, waiting = (load.running, load.waiting) if load else (None, None)
    connections = _connections(target.url)
    quiet, reason = running == 0 and waiting == 0, ""
    if sample.metrics.fault in (Fault.REFUSED, Fault.UNREACHABLE):
        quiet, reason = True, f"nothing answers there: {sample.metrics.detail}"
    elif running is None or waiting is None:
        quiet, reason = (
            connections == 0,
            f"it does not tell what it works on ({sample.metrics.detail}); connections count",
        )
    found = {"idle": quiet, "running": running, "waiting": waiting, "connections": connections, "reason": reason}
    return quiet, found


def _connections(url: str) -> int | None:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return (
        processes.connections(parts.hostname, parts.port, facts.addresses()) if parts.hostname and parts.port else None
    )


def _target(call: Call) -> Any:
    from floor.healthcheck.target import Target

    params = call.params
    return Target(
        name=params.text("backend"),
        url=params.text("url"),
        model=params.text("model"),
        dialect=params.maybe_text("dialect") or "vllm",
        key=_key(call) if params.flag("key") else None,
        stall=params.number("stall", 120.0),
        min_speed=params.number("min_speed", 0.0) or None,
        task=params.maybe_text("task") or "generate",
    )


def _key(call: Call) -> str:
    keys = secrets.read(call.root)
    if keys is None:
        raise FloorError(
            f"{call.params.text('backend')}: asks for the engine key, and this box has none; run floor deploy"
        )
    return keys["engine"]
