"""Steps that take the place of what somebody else runs, and how pools reach old engines until then."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from floor.config.hosts import netloc
from floor.plan import lanes
from floor.plan.aim import Aim, Wanted
from floor.plan.standing import Foreign
from floor.plan.steps import Stage, Step, Until, stage

STOP_SECONDS = 60.0


def plan_starters(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that keeps others from starting or stopping engines, before any engine stops."""
    found = []
    for things in aim.foreign.values():
        starters = [thing for thing in things if not thing.holds]
        found.append([_stop(thing) if thing.running else _disable(thing) for thing in starters])
    return stage("keep others from starting and stopping engines", *found)


def fronts(aim: Aim, box: str) -> list[Step]:
    """The steps that free the ports of floor's own services on a box, right before these start."""
    return [_stop(thing) for thing in aim.foreign.get(box, ()) if thing.front]


def standing(aim: Aim, copy: Wanted) -> tuple[Foreign, ...]:
    """What runs in the place of a copy."""
    every = (thing for box, _ in copy.places for thing in aim.foreign.get(box, ()))
    return tuple(thing for thing in every if thing.backend == copy.backend)


def adopted(aim: Aim) -> dict[str, Wanted]:
    """The copies in whose place an engine runs that the proxies can send requests to until it is replaced."""
    return {
        copy.backend: copy
        for copy in aim.copies
        if (there := standing(aim, copy)) and not there[0].apart and aim.addresses.get(copy.box)
    }


def places(aim: Aim) -> dict[str, dict[str, Any]]:
    """For each adopted copy, what differs in the pools' settings as long as the old engine runs: no unit of floor's
    tells of it, and it may answer on another port."""
    found = {}
    for backend, copy in adopted(aim).items():
        address, port = aim.addresses[copy.box] or "", standing(aim, copy)[0].port or copy.resolved.port
        there = netloc(address, port)
        found[backend] = {"url": f"http://{there}", "server": there, "port": port, "unit": None, "status_url": None}
    return found


def take_place(aim: Aim, copy: Wanted, *, last: bool) -> list[Step]:
    """Take the old engine in the place of `copy` out of the pools, wait until it has finished, and stop it for good."""
    things = standing(aim, copy)
    old = copy
    if not things[0].apart:
        check = {**copy.check, "url": places(aim)[copy.backend]["url"], "key": False}
        old = dataclasses.replace(copy, check=check)
    why = f"{things[0].title} runs in its place"
    # before any pool has heard of it: what will have to be done there by then
    proxies = aim.knows(copy) or aim.proxies
    out = lanes.take_out(aim, old, why, last=last, proxies=proxies) if not things[0].apart else []
    return [*out, *(_stop(thing) for thing in things)]


def hindered(things: Mapping[str, tuple[Foreign, ...]]) -> list[str]:
    """What cannot be taken over: a line each, with what to do."""
    return [f"{thing.line}: {thing.hindrance}" for some in things.values() for thing in some if thing.hindrance]


def _stop(thing: Foreign) -> Step:
    once = " (it was started with --rm, so that nothing of it is left)" if thing.temporary else ""
    stopped = Until("stopped", STOP_SECONDS, late="kill")
    text = f"take over {thing.title}: stop it, keep it from starting again{once}"
    return Step(thing.box, "foreign.stop", thing.thing, text, thing.why, stopped)


def _disable(thing: Foreign) -> Step:
    text = f"take over {thing.title}: keep it from running again"
    return Step(thing.box, "foreign.disable", thing.thing, text, thing.why)
