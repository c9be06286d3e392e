"""What a box's guard tells, made ready for advice. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floor.config.model import Config, ResolvedCopy
from floor.desired.state import MODES
from floor.desired.watch import Engine, engines
from floor.engines import share
from floor.engines.log import Start
from floor.guard.advise import Advice, Room, Wish, advise
from floor.guard.history import Others
from floor.sizes import GIB, gib

ENGINE_SHARE = 0.92  # what vLLM takes where none is given


@dataclass(frozen=True)
class BoxAdvice:
    """What the engines of a box should be given; `why` says why there is none, or on what it rests."""

    box: str
    advice: tuple[Advice, ...]
    why: str
    leaves: float | None = None  # GiB that stay free with the shares of now


def advice_for(config: Config, box: str, told: Mapping[str, Any]) -> BoxAdvice:
    """Given the config, a box and what its agent's `guard.state` told, return the advice for the engines of its present
    mode: copies, and its part of a group."""
    mode, state = told.get("mode") or MODES[0], told["state"]
    here = [one for one in engines(config, box) if mode in one.modes and card(one.copy)]
    if not here:
        return BoxAdvice(box, (), "no engine here takes a share of the memory")
    if state is None:
        return BoxAdvice(box, (), "its guard has not reported yet; is floor-guard.service running?")
    if state["shared"] is False:
        return BoxAdvice(
            box, (), "its cards have memory of their own: a share is of theirs, and nothing else runs there"
        )
    if state["others"] is None or state["total"] is None:
        return BoxAdvice(box, (), "its guard does not know yet what else runs here; it reads twice a minute")
    others = Others(**state["others"])
    room = Room(state["total"], config.boxes[box].keep_free, state["floor"], others)
    found = advise(room, [wish(one, state, told.get("calibrated") or {}) for one in here])
    shares = sum(one.copy.utilization or ENGINE_SHARE for one in here)
    left = (room.total - others.p95 - int(room.total * shares)) / GIB
    days = f"{others.days} day" + ("s" if others.days > 1 else "")
    why = f"others take {gib(others.p95)}, {others.most / GIB:.1f} at most ({others.readings} readings on {days})"
    if state["shared"] is None:
        why += "; no driver tells whether its GPU shares the memory, which is taken for granted here"
    return BoxAdvice(box, tuple(found), why, left)


def card(copy: ResolvedCopy) -> bool:
    """Whether a copy takes its memory as a share."""
    runtime = copy.runtime
    bare = runtime is not None and runtime.kind == "docker" and runtime.gpus is None
    return copy.engine == "vllm" and not bare and "VLLM_CPU_KVCACHE_SPACE" not in copy.env


def wish(engine: Engine, state: Mapping[str, Any], calibrated: Mapping[str, Any]) -> Wish:
    """Given an engine, its box's report and what backends there were measured at, return what it should be given room
    for, from what its last start logged: as the guard saw it, else as `floor calibrate` did.

    A part of a group holds its own share of the weights and of each token's cache, and logs what is its own.
    """
    copy = engine.copy
    logged = state["starts"].get(engine.unit) or calibrated.get(copy.backend)
    start = Start.of(logged["start"]) if logged else Start()
    cache = share.cache(start)
    if logged is None or cache is None or logged["utilization"] is None:
        return Wish(copy.backend, copy.utilization)
    held = share.held(start, logged["utilization"], state["total"]) or 0.0
    wanted = None
    if start.tokens and copy.context and copy.max_requests:
        wanted = int(cache / start.tokens * copy.context * copy.max_requests)
    return Wish(copy.backend, copy.utilization, int(held), wanted)
