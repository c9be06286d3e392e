"""One unit: started, stopped, waited for. Starting and stopping never block; the caller asks again."""

from __future__ import annotations

import re
from typing import Any

from floor.agent.call import Call
from floor.box import containers, holds, leaving, paths, processes, secrets, starts, systemctl
from floor.box.locked import mine
from floor.box.units import UnitFacts
from floor.errors import RefusedError, UsageError

OURS = re.compile(r"floor[A-Za-z0-9_.@:-]*\.(service|target|timer|path|socket)")
ANY = re.compile(r"[A-Za-z0-9_.@:\\][A-Za-z0-9_.@:\\-]*\.(service|target|timer|path|socket)")
STOPPED = ("inactive", "failed")
LONGEST_STOP = 600.0  # seconds that are noted: more was no stop that anybody waited for
ENGINES = ("floor-copy-", "floor-group-")  # units that leave before they stop


def _name(call: Call) -> str:
    """The unit that is meant. One that is not floor's has to be called `foreign` (it was named to a person first)."""
    name = call.params.text("unit")
    if not (ANY if call.params.flag("foreign") else OURS).fullmatch(name):
        raise UsageError(f"{call.params.call}: unit {name!r}: must be floor's, as floor-copy-MODEL.service")
    return name


def start(call: Call) -> dict[str, Any]:
    """{epoch, unit} → {}. What has counted towards the start limit of an engine is forgotten."""
    return _begin(call, "start")


def restart(call: Call) -> dict[str, Any]:
    """{epoch, unit} → {}: returns when the old process is no longer taken for the new one."""
    return _begin(call, "restart")


def _begin(call: Call, verb: str) -> dict[str, Any]:
    name = _name(call)
    _refuse_held(call, name)
    with call.work():
        before = systemctl.show([name], call.run)[name]
        secrets.complete(call.root, mine())
        if before.active == "failed" or name.startswith(ENGINES):
            systemctl.forget(name, call.run)
        systemctl.do([verb, "--no-block", "--", name], call.run)
        if verb == "restart":
            call.until(lambda: (_left(systemctl.show([name], call.run)[name], before), None))
    return {}


def _refuse_held(call: Call, name: str) -> None:
    """Raise RefusedError where the guard keeps a copy down: its unit would be skipped without a word."""
    hold = holds.against(name, holds.installed(name, call.root), call.root)
    if hold is not None:
        raise RefusedError(f"{name}: {hold.words}")


def _left(now: UnitFacts, before: UnitFacts) -> bool:
    return now.active != "active" or now.invocation != before.invocation


def reload(call: Call) -> dict[str, Any]:
    """{epoch, unit} → {}: waits until the unit's own reload command has said yes."""
    return _simply(call, "reload")


def enable(call: Call) -> dict[str, Any]:
    """{epoch, unit} → {}: starts at boot from now on; nothing is started now."""
    return _simply(call, "enable")


def disable(call: Call) -> dict[str, Any]:
    """{epoch, unit} → {}: does not start at boot any more; nothing is stopped now. A unit that is gone is fine."""
    return _simply(call, "disable")


def _simply(call: Call, verb: str) -> dict[str, Any]:
    name = _name(call)
    with call.work():
        if verb != "disable" or systemctl.show([name], call.run)[name].exists:
            systemctl.do([verb, "--", name], call.run)
    return {}


def stop(call: Call) -> dict[str, Any]:
    """{epoch, unit, timeout} → {stopped, left, active}: stopped only when no process and no container is left.

    Whoever asks has drained an engine, or decided not to: its unit then does not wait for that once more. However the
    engine ended, what was asked for is no failure: its unit is left inactive.
    """
    name = _name(call)
    with call.work():
        unit = systemctl.show([name], call.run)[name]
        if unit.active not in STOPPED:
            if name.startswith(ENGINES):
                _mark(call, unit)
            systemctl.do(["stop", "--no-block", "--", name], call.run)
        answer = dict(call.until(lambda: gone(call, name)))
        if answer["stopped"] and _note(call, unit) and answer["active"] == "failed":
            systemctl.forget(name, call.run)
            answer["active"] = "inactive"
        return answer


def _mark(call: Call, unit: UnitFacts) -> None:
    """Since when it is being stopped; whoever asks again does not change that."""
    before = leaving.read(paths.DRAINED, call.root).get(unit.name)
    if before is None or before.invocation != unit.invocation:
        mark = leaving.Mark(unit.invocation, call.wall(), call.clock())
        leaving.put(paths.DRAINED, unit.name, mark, call.root)


def _note(call: Call, unit: UnitFacts) -> bool:
    """Keep how long an engine took to stop, from the first order on: once, by whichever call finds it gone.

    Of one that is found gone long after the order nobody has seen when it went. Return whether there was an order.
    """
    mark = leaving.read(paths.DRAINED, call.root).get(unit.name)
    if mark is None:
        return False
    backend, seconds = starts.backend(unit.name, call.root), call.clock() - mark.monotonic
    if backend and mark.invocation == unit.invocation and seconds < LONGEST_STOP:
        starts.stopped(backend, seconds=seconds, at=call.wall(), root=call.root)
    leaving.drop(paths.DRAINED, unit.name, call.root)
    return True


def gone(call: Call, name: str) -> tuple[bool, dict[str, Any]]:
    """Given a unit, return whether no process and no container of it is left, and {stopped, left, active}."""
    unit = systemctl.show([name], call.run)[name]
    left: list[Any] = list(processes.in_cgroup(unit.cgroup, call.root))
    boxed = containers.of_unit(name)
    if boxed in containers.inspect([boxed], call.run):
        left.append(f"container {boxed}")
    stopped = unit.active in STOPPED and not left
    return stopped, {"stopped": stopped, "left": left, "active": unit.active}


def kill(call: Call) -> dict[str, Any]:
    """{epoch, unit} → {left}: ends every process of the unit at once, and its container."""
    name = _name(call)
    with call.work():
        if processes.in_cgroup(systemctl.show([name], call.run)[name].cgroup, call.root):
            systemctl.do(["kill", "--signal=SIGKILL", "--", name], call.run)
        boxed = containers.of_unit(name)
        if boxed in containers.inspect([boxed], call.run):
            containers.remove(boxed, call.run)
        return {"left": gone(call, name)[1]["left"]}


def wait(call: Call) -> dict[str, Any]:
    """{unit, until: active|inactive, timeout, epoch} → the unit's facts, {reached, log: its last line}.

    Ends early when the unit has failed: it will not become active by waiting.
    """
    name, wanted = _name(call), call.params.text("until")
    if wanted not in ("active", "inactive"):
        raise UsageError(f"unit.wait: parameter until: must be active or inactive, found {wanted!r}")
    if call.params.maybe_whole("epoch") is not None:
        call.operation.renew(call.params.whole("epoch", 1))
    seen: dict[str, Any] = call.until(lambda: _state(call, name, wanted))
    return {**seen, "log": systemctl.last_line(name, call.run)}


def _state(call: Call, name: str, wanted: str) -> tuple[bool, dict[str, Any]]:
    unit = systemctl.show([name], call.run)[name]
    reached = unit.active == "active" if wanted == "active" else gone(call, name)[0]
    return reached or unit.active == "failed", {**unit.as_json(), "reached": reached}
