"""Whatever happens to its parts, a group comes back as one: by itself, in time, and without ranks of two starts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import pytest

from tests.unit.group.world import LOAD, World

WITHIN = 10.0  # seconds beside one start of the engine
RUNS = 40


def settled(world: World) -> float:
    """Go on until it generates; return how long that took."""
    began = world.now
    for _ in world.run(LOAD + WITHIN + 60):
        if world.generates():
            return world.now - began
    raise AssertionError(f"does not generate: {[part.told for part in world.parts.values()]}\n{world.ended}")


def happen(world: World) -> list[str]:
    """A minute in which all kinds of things happen to its parts; at the end everything is on and connected."""
    told: list[str] = []
    later: list[tuple[float, Callable[[], None]]] = []
    for _ in world.run(60):
        for due in [one for one in later if one[0] <= world.now]:
            later.remove(due)
            due[1]()
        if world.random.random() < 0.02:
            words, ends, end = something(world)
            told.append(f"{world.now:.1f} {words}")
            later += [(world.now + ends, end)] if end else []
    for _, end in later:
        end()
    return told


def something(world: World) -> tuple[str, float, Callable[[], None] | None]:
    """Let one thing happen; return it in words, and what ends it, after how many seconds."""
    random, box = world.random, world.random.choice(list(world.parts))
    what = random.choice([world.kill, world.restart, world.power, world.link, world.deafen, world.stall])
    ends = random.uniform(0.2, 15)
    if what == world.link:
        pair = frozenset(random.sample(list(world.parts), 2))
        world.link(pair, up=False)
        return f"cut {sorted(pair)} for {ends:.1f} s", ends, partial(world.link, pair, up=True)
    if what == world.power:
        if not world.parts[box].on:
            return "nothing", 0, None
        world.power(box, on=False)
        return f"no power for {box} for {ends:.1f} s", ends, partial(world.power, box, on=True)
    if what in (world.deafen, world.stall):
        what(box, random.uniform(0.2, 8))
    else:
        what(box)
    return f"{what.__name__} {box}", 0, None


@pytest.mark.parametrize("boxes", [2, 3])
def test_generates_again_within_one_start_and_10_s(boxes: int) -> None:
    """Of every run the world itself asserts that no two generations run at once, and that nobody fine is ended."""
    longest = 0.0
    for seed in range(RUNS):
        world = World(boxes, seed)
        assert settled(world) <= LOAD + WITHIN
        told = happen(world)
        ready = max(max(part.agent_from, part.watch_at) for part in world.parts.values())
        for _ in world.run(max(0.0, ready - world.now)):
            pass
        took = settled(world)
        longest = max(longest, took)
        assert took <= LOAD + WITHIN, f"seed {seed}: {took:.1f} s\n{told}\n{world.ended}"
        ended = len(world.ended)
        for _ in world.run(20):
            assert world.generates(), f"seed {seed}\n{told}\n{world.ended}"
        assert len(world.ended) == ended
    print(f"{boxes} boxes: at most {longest - LOAD:.1f} s beside the start itself")


def test_at_rest_nobody_is_ended() -> None:
    world = World(3, 1)
    settled(world)
    for _ in world.run(600):
        assert world.generates()
    assert world.ended == []


@pytest.mark.parametrize("pair", list(combinations("abc", 2)))
def test_a_cut_between_any_two_ends_all_and_only_once(pair: tuple[str, str]) -> None:
    world = World(3, 2)
    settled(world)
    world.link(frozenset(pair), up=False)
    for _ in world.run(300):
        pass
    assert len(world.ended) == 3, world.ended
    world.link(frozenset(pair), up=True)
    assert settled(world) <= LOAD + WITHIN


def test_a_short_cut_ends_nobody() -> None:
    world = World(2, 3)
    settled(world)
    world.link(frozenset("ab"), up=False)
    for _ in world.run(3):
        pass
    world.link(frozenset("ab"), up=True)
    for _ in world.run(30):
        assert world.generates()
    assert world.ended == []


def test_a_part_that_is_restarted_takes_the_other_along_each_time_and_no_more() -> None:
    world = World(2, 4)
    settled(world)
    for _ in range(5):
        world.restart("b")
        for _ in world.run(2):
            pass
        settled(world)
    assert len(world.ended) == 5
