"""Who holds a backend out of this proxy box's pool."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from floor.agent.call import Call
from floor.box import drains, paths
from floor.box.observe import document
from floor.errors import RefusedError


def add(call: Call) -> dict[str, Any]:
    """{backend, holder, epoch|null, last: bool, outlives: bool} → {holders}.

    Refused for the only member unless `last` is true. The box itself looks, at its pool and at the drains that it is
    added to: a caller's reading may be older, and several come at once. With `outlives` the operation of `epoch` lays
    it and does not hold it.
    """
    params = call.params
    backend, holder, epoch = params.text("backend"), params.text("holder"), params.maybe_whole("epoch")
    with call.work() if epoch is not None else nullcontext():
        held = drains.add(backend, holder, _holding(call), at=call.wall(), root=call.root, allow=_allow(call, backend))
    return {"holders": list(drains.held_by({backend: held})[backend])}


def remove(call: Call) -> dict[str, Any]:
    """{backend, holder|null, epoch|null, outlives: bool} → {holders: those that are left}."""
    params = call.params
    backend, holder, epoch = params.text("backend"), params.maybe_text("holder"), params.maybe_whole("epoch")
    with call.work() if epoch is not None else nullcontext():
        held = drains.remove(backend, holder, _holding(call), root=call.root)
    return {"holders": list(drains.held_by({backend: held})[backend])}


def _holding(call: Call) -> int | None:
    """The epoch that the drain itself bears: none where it outlives the operation that lays or ends it."""
    return None if call.params.flag("outlives") else call.params.maybe_whole("epoch")


def _allow(call: Call, backend: str) -> Callable[[drains.Drains], None]:
    """What raises RefusedError when no other undrained member serves the same model on this proxy box."""

    def allow(before: drains.Drains) -> None:
        if call.params.flag("last"):
            return
        record = call.operation.read()
        taken = set(drains.live(before, record["epoch"] if record and record["live"] else None))
        for model, pool in ((document(paths.POOL_STATE, call.root) or {}).get("pools") or {}).items():
            members = set(pool.get("members") or ())
            if backend in members and not members - taken - {backend}:
                raise RefusedError(
                    f"{backend} is the only member of {model}'s pool: draining it would leave nobody to answer; "
                    "wait until another copy serves, or use --force"
                )

    return allow
