"""What this proxy box's pool has in it."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import away, paths
from floor.box.observe import document, text

OLD = 10.0  # seconds; the pool writes its state every 2, an older one tells nothing about now


def wait(call: Call) -> dict[str, Any]:
    """{model, backend, member: bool, timeout, epoch} → {reached, state, reason}.

    Out of the pool is reached only when no worker of nginx that still knew the backend takes connections any more.
    """
    params = call.params
    model, backend, member = params.text("model"), params.text("backend"), params.flag("member")
    if params.maybe_whole("epoch") is not None:
        call.operation.renew(params.whole("epoch", 1))
    return dict(call.until(lambda: _look(call, model, backend, member=member)))


def _look(call: Call, model: str, backend: str, *, member: bool) -> tuple[bool, dict[str, Any]]:
    state = document(paths.POOL_STATE, call.root)
    reached, reason = judge(state, model, backend, member=member, now=call.wall())
    return reached, {"reached": reached, "reason": reason, "state": state}


def announce(call: Call) -> dict[str, Any]:
    """{epoch, mode, models: {model: seconds}} → {}: a switch to `mode`, or a swap, keeps these models away for about so
    long, and clients of this box are told. It counts while the operation's lease is live."""
    params = call.params
    epoch, mode, models = params.whole("epoch", 1), params.text("mode"), params.mapping("models")
    with call.work():
        until = {str(model): away.Away(epoch, call.wall() + float(seconds), mode) for model, seconds in models.items()}
        away.announce(until, call.root)
    return {}


def direct(call: Call) -> dict[str, Any]:
    """{timeout, epoch} → {reached, reason}: nginx sends no request the way of a key that follows the present one."""
    if call.params.maybe_whole("epoch") is not None:
        call.operation.renew(call.params.whole("epoch", 1))
    return dict(call.until(lambda: _direct(call)))


def _direct(call: Call) -> tuple[bool, dict[str, Any]]:
    going = f"unix:{paths.MEMBERS.parent}/next-" in (text(str(paths.MEMBERS), call.root) or "")
    return not going, {"reached": not going, "reason": "some members still go the way of the next key" if going else ""}


def judge(state: Any, model: str, backend: str, *, member: bool, now: float) -> tuple[bool, str]:
    """Given the pool's state file and this box's clock, return whether the backend is in (safely out), and why not."""
    if not state:
        return False, "the pool service has not written its state yet; is floor-pool.service running?"
    if now - state["at"] > OLD:
        return False, f"the pool's state is {now - state['at']:.0f} s old; is floor-pool.service running?"
    pool = state["pools"].get(model)
    seen = (pool or {}).get("backends", {}).get(backend, {})
    inside = pool is not None and backend in pool["members"]
    nginx = state.get("nginx") or {}
    if member and inside and nginx.get("settled", 0) < nginx.get("generation", 0):
        return False, "nginx has not taken it in with all its workers yet"
    if member:
        said = f"{seen.get('reason', 'unknown')}: {seen.get('evidence', 'the pool does not know it yet')}"
        return inside, "" if inside else f"not a member: {said}"
    if inside:
        return False, "still a member"
    acknowledged = bool(state["acknowledged"].get(backend, pool is None or backend not in pool["backends"]))
    return acknowledged, "" if acknowledged else "an nginx worker that still knows it takes connections"
