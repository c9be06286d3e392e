"""1,000 hours of an engine that does all that engines do: never a false restart, never a hang beyond the stated limit.

A phase is what the engine does for a while. Harmless ones last as long as they may; after each the engine is well for
at least two looks, since two harmless phases without any work between them would be a hang.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from floor.watchdog.decide import Action, decide
from floor.watchdog.memory import Memory
from floor.watchdog.ration import BACK_OFF
from floor.watchdog.seen import Box
from tests.unit.watchdog.words import COPY, seen

EVERY, PER_HOUR, HOURS = 30, 3, 250
STALL = int(COPY.stall)
STANDING = {"running": 3, "waiting": 1, "steps": 7}
GROWING = {"running": 3, "waiting": 1, "steps": "grows"}

# What is seen, and the longest that it may last without being a fault.
HARMLESS: list[tuple[dict[str, Any], int]] = [
    ({"engine": "ok"}, 7200),
    ({"engine": "ok", "load": GROWING}, 7200),
    ({"engine": "prefilling", "load": GROWING}, 7200),
    ({"engine": "timed_out", "load": GROWING}, 7200),
    ({"engine": "timed_out"}, STALL - EVERY),
    ({"engine": "prefilling", "load": STANDING}, STALL - EVERY),
    ({"engine": "refused"}, 60 - EVERY),
    ({"engine": "refused", "connections": 2}, STALL - EVERY),
    ({"engine": "server_error"}, 120 - EVERY),
    ({"engine": "server_error", "load": GROWING}, 3600),
    ({"engine": "slow"}, 1800 - EVERY),
    ({"engine": "loading"}, 3600),
    ({"engine": "auth_required"}, 7200),
    ({"engine": "unreachable"}, 7200),
    ({"engine": "wrong_model"}, 3600),
    ({"engine": "degraded"}, 3600),
    ({"engine": "not asked"}, 600),
    ({"unit": "activating", "sub": "auto-restart"}, 60),
    ({"unit": "activating", "restarts": 3}, 2400),
    ({"unit": "deactivating"}, 1800),
    ({"unit": "inactive", "result": "success"}, 3600),
    ({"unit": "failed", "wanted": False}, 3600),
    ({"unit": "failed", "busy": "`deploy` of a@b"}, 3600),
    ({"unit": "failed", "hold": "2.1 GiB were left"}, 3600),
    ({"unit": "failed", "conflicts": {"other.service": "active"}}, 3600),
]
# What is seen, and the limit after which it must be acted on.
FAULTS: list[tuple[dict[str, Any], int]] = [
    ({"engine": "timed_out"}, STALL),
    ({"engine": "prefilling", "load": STANDING}, STALL),
    ({"engine": "timed_out", "load": {"running": 0, "waiting": 0, "steps": 7}}, STALL),
    ({"engine": "refused"}, 60),
    ({"engine": "refused", "connections": 2}, STALL),
    ({"engine": "server_error"}, 120),
    ({"engine": "slow"}, 1800),
    ({"unit": "failed"}, 0),
]


def phases(chance: random.Random) -> Iterator[tuple[dict[str, Any], int, int | None]]:
    """What is seen, for how long, and the limit where it is a fault (it ends when it was acted on)."""
    while True:
        if chance.random() < 0.15:
            what, limit = chance.choice(FAULTS)
            yield what, 1 << 30, limit
            yield {"unit": "activating", "sub": "start-post"}, chance.randrange(100, 900, EVERY), None
        else:
            what, longest = chance.choice(HARMLESS)
            yield what, chance.randrange(EVERY, longest + EVERY, EVERY), None
        yield {"engine": "ok", "load": GROWING}, chance.choice((2 * EVERY, 2 * EVERY, 700)), None


@pytest.mark.parametrize("seed", range(4))
def test_no_false_restart_and_no_missed_hang(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 -- a story, no secret
    memory, at, run, faults = Memory(), 0, 1, 0
    for what, lasts, limit in phases(chance):
        began = at
        while at < began + lasts:
            word = what | {"run": run}
            box = Box(busy=word.get("busy", ""))
            memory, decision = decide(memory, seen(word, float(at)), box, COPY, PER_HOUR)
            at += EVERY
            if decision.action is not Action.NONE:
                assert limit is not None, f"{what} at {at - EVERY}: {decision}"
                faults += 1
                break
            allowed = decision.reason in ("backs off", "ration used up", "given up")
            # One look to notice, one for the run to be counted from.
            late = limit is not None and at - began > max(limit, 3 * EVERY) + 2 * EVERY
            assert allowed or not late, f"{what} since {began}, not acted on at {at}: {decision}"
            if decision.reason == "given up":
                assert decision.alarm
                assert memory.streak >= len(BACK_OFF)
                memory = Memory()  # a person has come
                break
        run += what.get("unit", "active") == "activating"
        if at > HOURS * 3600:
            break
    assert faults > 40
