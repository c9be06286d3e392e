"""The engine of a backend, asked directly from this box and with this box's key."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from floor.agent.call import POLL, Call
from floor.box import facts, processes, secrets
from floor.errors import FloorError


def check(call: Call) -> dict[str, Any]:
    """{backend, url, model, dialect, task, key, stall, min_speed, timeout} → the verdict as JSON."""
    from floor.healthcheck.check import check as ask
    from floor.healthcheck.client import make_client
    from floor.healthcheck.report import document
    from floor.healthcheck.verdict import Reason

    async def once() -> dict[str, Any]:
        async with make_client() as client:
            for target in targets(call):
                verdict = await ask(client, target, timeout=call.params.timeout())
                if verdict.reason is not Reason.AUTH_REQUIRED:
                    break
            return document(verdict)

    return asyncio.run(once())


def idle(call: Call) -> dict[str, Any]:
    """{backend, url, model, dialect, key, looks, timeout} → {idle, running, waiting, connections, reason}.

    Idle is one that is found so by so many looks in a row (default: one).

    Idle is what the engine's own counts say: a client may keep a connection open without a request. Where it has no
    counts, or lets nobody in, its connections decide; where nobody listens nothing is left to finish. `reason` says so
    then.
    """
    wanted, quiet = call.params.maybe_whole("looks") or 1, 0

    def look() -> tuple[bool, dict[str, Any]]:
        nonlocal quiet
        idle, found = _idle(call)
        quiet = quiet + 1 if idle else 0
        return quiet >= wanted, {**found, "idle": quiet >= wanted}

    return dict(call.until(look, POLL))


def _idle(call: Call) -> tuple[bool, dict[str, Any]]:
    # By the standard library alone: it is asked while nobody answers for the model, and httpx takes 0.2 s to load.
    from floor.box.status_ask import MuteError, StrangerError, get
    from floor.healthcheck.dialects import find

    asked = targets(call)
    dialect, load, said, gone = find(asked[0].dialect), None, "its page has no counts", ""
    for target in asked:
        try:
            load = dialect.load(get(f"{target.url}{dialect.metrics}", target.key))
        except StrangerError as error:  # the next key, if there is one
            said = str(error)
            continue
        except MuteError as error:
            said = str(error)
        except TimeoutError:  # as with so many connections that it takes no more
            said = "it takes no connection"
        except OSError as error:
            gone = f"nothing answers there: {error.strerror or error}"
        break
    running, waiting = (load.running, load.waiting) if load else (None, None)
    connections = _connections(asked[0].url)
    quiet, reason = running == 0 and waiting == 0, ""
    if gone:
        quiet, reason = True, gone
    elif running is None or waiting is None:
        quiet, reason = connections == 0, f"it does not tell what it works on ({said}); connections count"
    found = {"idle": quiet, "running": running, "waiting": waiting, "connections": connections, "reason": reason}
    return quiet, found


def _connections(url: str) -> int | None:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return (
        processes.connections(parts.hostname, parts.port, facts.addresses()) if parts.hostname and parts.port else None
    )


def targets(call: Call) -> list[Any]:
    """Given a call that names a backend, return who is asked: the engine, with each key that it may have.

    There are two while its key is being replaced.
    """
    from floor.healthcheck.target import Target

    params = call.params
    plain = Target(
        name=params.text("backend"),
        url=params.text("url"),
        model=params.text("model"),
        dialect=params.maybe_text("dialect") or "vllm",
        key=None,
        stall=params.number("stall", 120.0),
        min_speed=params.number("min_speed", 0.0) or None,
        task=params.maybe_text("task") or "generate",
    )
    return [replace(plain, key=key) for key in _keys(call)] if params.flag("key") else [plain]


def _keys(call: Call) -> list[str]:
    keys = secrets.accepted("engine", call.root)
    if not keys:
        raise FloorError(
            f"{call.params.text('backend')}: asks for the engine key, and this box has none; run floor deploy"
        )
    return keys
