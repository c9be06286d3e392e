"""Measures an engine of this box, and keeps what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import Any

from floor.agent.call import Call
from floor.agent.calls.engine import targets
from floor.box import calibrations, paths, processes, systemctl
from floor.box.observe import LAUNCH, document
from floor.engines import log

LINES = 2000  # of a start's log: what is looked for comes within the first hundreds
LONGEST = 900.0  # seconds of one measurement


def look(call: Call) -> dict[str, Any]:
    """{unit} → {launch: the digest that its process was started with, start: what its log told of that start}.

    The log of a start may be gone from the journal: the guard has read it then.
    """
    unit = call.params.text("unit")
    facts = systemctl.show([unit], call.run)[unit]
    proc = paths.under(call.root, "/proc")
    launch = processes.environ(facts.main_pid, [LAUNCH], proc).get(LAUNCH, "") if facts.main_pid else ""
    start = asdict(log.parse(systemctl.first_lines(unit, LINES, facts.invocation, call.run)))
    seen = ((document(paths.GUARD_STATE, call.root) or {}).get("starts") or {}).get(unit)
    if seen and seen["launch"] == launch:
        start = {name: value if value is not None else seen["start"].get(name) for name, value in start.items()}
    return {"launch": launch, "start": start}


def measure(call: Call) -> dict[str, Any]:
    """{backend, url, model, dialect, task, key, at_once, prompt, answer, seed, timeout} → {prompt, answer, first,
    speed}: see floor.agent.calibrate.measure.

    It keeps the engine busy: the caller has taken it out of every pool.
    """
    from floor.agent import engine_key
    from floor.agent.calibrate import Work
    from floor.agent.calibrate import measure as ask
    from floor.healthcheck.client import make_client

    params = call.params
    work = Work(params.whole("at_once", 1), params.whole("prompt", 1), params.whole("answer", 3), params.whole("seed"))
    target = targets(call)[0]
    if target.key:
        target = replace(target, key=engine_key.taken(target.url, call.root))

    async def once() -> dict[str, Any]:
        async with make_client() as client:
            return await ask(client, target, work, call.clock, min(LONGEST, params.number("timeout", LONGEST)))

    return asyncio.run(once())


def keep(call: Call) -> dict[str, Any]:
    """{epoch, backend, figures: {launch, start, points}} → {}. In place of what the same launch had before."""
    with call.work():
        calibrations.keep(call.params.text("backend"), call.params.mapping("figures"), at=call.wall(), root=call.root)
    return {}
