"""/sim/…: what a test asks and orders, beside what any client of vLLM sees."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from floor.errors import UsageError
from floor.sim import faults
from floor.sim.exchange import Exchange, Reply
from floor.sim.refusals import Refusal, read_json
from floor.sim.simulator import Simulator

PREFIX = "/sim/"


def allowed(sim: Simulator, exchange: Exchange) -> bool:
    """From this machine, on the control port, or with the token."""
    simulation = sim.settings.simulation
    if exchange.scope["server"][1] == simulation.control_port:
        return True
    client = (exchange.scope["client"] or ("",))[0]
    if client == "::1" or client.startswith(("127.", "::ffff:127.")):
        return True
    return simulation.control_token is not None and exchange.header(b"x-sim-token") == simulation.control_token


async def handle(sim: Simulator, exchange: Exchange) -> None:
    """GET /sim/state, POST and DELETE /sim/faults. A wrong order gets 400 with the reason."""
    body = await exchange.body()
    try:
        reply = _answer(sim, exchange.method, exchange.path, body)
        await sim.doors.settled()
        await exchange.reply(reply)
    except UsageError as error:
        await exchange.reply(Reply.json({"error": str(error)}, 400))
    except Refusal as refusal:
        await exchange.reply(Reply.json({"error": str(refusal)}, 400))


def _answer(sim: Simulator, method: str, path: str, body: bytes) -> Reply:
    if (method, path) == ("GET", "/sim/state"):
        return Reply.json(state(sim))
    if (method, path) == ("POST", "/sim/faults"):
        order = read_json(body)
        if "clear" in order:
            sim.clear(None if order["clear"] is True else faults.known(str(order["clear"])))
        else:
            sim.put(_fault(order))
        return Reply.json({"faults": sim.faults.names(sim.now())})
    if (method, path) == ("DELETE", "/sim/faults"):
        sim.clear()
        return Reply.json({"faults": []})
    return Reply.json({"error": f"no {method} {path}; there are GET /sim/state, POST and DELETE /sim/faults"}, 404)


def _fault(order: Mapping[str, Any]) -> faults.Fault:
    if "fault" not in order:
        raise UsageError('an order is {"fault": KIND, "setting": value, …} or {"clear": KIND or true}')
    return faults.make(str(order["fault"]), {name: value for name, value in order.items() if name != "fault"})


def state(sim: Simulator) -> dict[str, Any]:
    """Everything a test may want to know: see SIM's documentation of `SimulatedEngine.state`."""
    engine = sim.engine
    return {
        "pid": os.getpid(),
        "ready": sim.ready,
        "world": sim.world,
        "stopping": sim.stopping,
        "running": len(engine.scheduler.running),
        "waiting": len(engine.scheduler.waiting),
        "finished": engine.finished,
        "aborted": engine.aborted,
        "faults": sim.faults.names(sim.now()),
        **sim.journal.show(),
    }
