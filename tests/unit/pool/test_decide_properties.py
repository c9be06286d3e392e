"""Under any interleaving of verdicts, units, drains, silent status ports, restarts of the pool and time: a backend is a
member if and only if it is undrained and proven, or slow and the last one, within the stated hysteresis."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from floor.healthcheck.verdict import Level, Reason
from floor.pool import report
from floor.pool.decide import LONGEST_WAIT, Decision, decide
from floor.pool.memory import Memory, Seen
from floor.pool.rollout import Rollout
from floor.pool.settings import Backend, Pool
from floor.pool.standing import ERRORS, MISSES
from tests.unit.pool.words import STALL, seen

NAMES = ("flagship@a", "flagship@b", "flagship@mac")
MANAGED = frozenset(NAMES[:2])
SERVING = ("ok", "slow", "prefilling")
DEAD = ("refused", "wrong_model", "not_an_engine", "auth_required", "loading")
HELD = ("timed_out", "unproven", "prefilling_unproven")
WEAK = ("hung", "degraded")
WORDS = (*SERVING, *DEAD, *HELD, *WEAK, "unreachable", "unreachable", "server_error")
UNITS = ("active", "active", "active", "activating", "deactivating", "failed", "inactive", "silent")
MOST_RETURNS = 16  # of one process in ten minutes: 0, 0, 5, 15, 30 and then 60 s apart

BACKENDS = tuple(
    Backend(
        n, f"http://{n}", "192.0.2.1", 8000 + i, f"192.0.2.1:{8000 + i}", 1, n, None, None, "vllm", False, STALL, None
    )
    for i, n in enumerate(NAMES)
)
POOLS = (Pool("flagship", "floor_flagship", 32, 3.0, BACKENDS),)


class Truth:
    """What really happened to one backend, told by looks alone: the oracle's own account."""

    def __init__(self) -> None:
        self.what: dict[str, Any] = {"reason": "unproven", "unit": "inactive", "run": 1, "drains": []}
        self.looks: list[tuple[float, str]] = []

    def run_of(self, *words: str) -> tuple[int, float]:
        """How many of the newest looks in a row found one of these words, and how long ago the first of them was."""
        count, first = 0, 0.0
        for at, word in reversed(self.looks):
            if word not in words:
                break
            count, first = count + 1, at
        return count, self.looks[-1][0] - first if count else 0.0

    @property
    def drained(self) -> bool:
        """Somebody holds it out, or its box tells that it is about to stop."""
        return bool(self.what["drains"] or self.what.get("leaving"))

    @property
    def unit_down(self) -> bool:
        return self.what["unit"] not in ("active", "silent", None)

    @property
    def gone(self) -> bool:
        """It cannot serve, by its unit or its own answer."""
        errors, lasted = self.run_of("server_error")
        return (
            self.unit_down
            or self.what["reason"] in DEAD
            or self.run_of("unreachable")[0] >= MISSES
            or (errors > 0 and lasted >= ERRORS)
        )

    @property
    def serves(self) -> bool:
        return self.what["reason"] in SERVING and not self.unit_down

    @property
    def degraded(self) -> bool:
        return self.what["reason"] == "degraded" and not self.unit_down

    @property
    def stalled(self) -> bool:
        return (
            self.what["reason"] in WEAK or self.run_of(*HELD, *DEAD, "hung", "unreachable", "server_error")[1] > STALL
        )


class PoolMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.truth = {name: Truth() for name in NAMES}
        self.memories: dict[str, Memory] = {}
        self.seen: dict[str, Seen] = {}
        self.decisions: dict[str, Decision] = {}

    @property
    def members(self) -> set[str]:
        return {name for name, memory in self.memories.items() if memory.member}

    @initialize(members=st.sets(st.sampled_from(NAMES)))
    def begin(self, members: set[str]) -> None:
        self.memories = {name: Memory(member=name in members) for name in NAMES}
        for name in members:
            self.truth[name].what |= {"reason": "ok", "unit": "active" if name in MANAGED else None}
        for name in NAMES:
            if name not in MANAGED:
                self.truth[name].what["unit"] = None
        self.tick(0.0)

    @rule(name=st.sampled_from(NAMES), word=st.sampled_from(WORDS))
    def finds(self, name: str, word: str) -> None:
        self.truth[name].what["reason"] = word
        self.tick(0.5)

    @rule(name=st.sampled_from(sorted(MANAGED)), unit=st.sampled_from(UNITS), restarted=st.booleans())
    def unit_is(self, name: str, unit: str, restarted: bool) -> None:
        what = self.truth[name].what
        what |= {"unit": unit, "run": what["run"] + restarted}
        self.tick(0.5)

    @rule(name=st.sampled_from(NAMES), holders=st.sets(st.sampled_from(["deploy 12", "a person"])))
    def held_by(self, name: str, holders: set[str]) -> None:
        self.truth[name].what["drains"] = sorted(holders)
        self.tick(0.1)

    @rule(name=st.sampled_from(sorted(MANAGED)), leaving=st.sampled_from(["", "", "it is being stopped"]))
    def leaves(self, name: str, leaving: str) -> None:
        self.truth[name].what["leaving"] = leaving
        self.tick(0.5)

    @rule(seconds=st.sampled_from([0.1, 0.5, 2.0, 9.0, 31.0, 61.0, 301.0]))
    def passes(self, seconds: float) -> None:
        """Time without looks in between: the pool's box was busy, or suspended."""
        self.tick(seconds)

    @rule(again=st.integers(1, 4))
    def nothing_new(self, again: int) -> None:
        """Deciding again on the same looks changes nothing."""
        for _ in range(again):
            before = self.members
            self.decide()
            assert self.members == before

    @rule()
    def pool_restarts(self) -> None:
        before = self.members
        now = report.Now(1e9, "boot", self.now, 1)
        document = report.compose(
            now, POOLS, frozenset(before), self.memories, self.seen, self.decisions, (Rollout(), None, 0), {}
        )
        former = report.restore(json.dumps(document), "state.json", "boot", self.now)
        self.memories = {name: replace(memory, member=name in before) for name, memory in former.memories.items()}
        for truth in self.truth.values():
            truth.looks.clear()
        blind = {name: replace(one, verdict=None, unit=None) for name, one in self.seen.items()}
        self.memories, self.decisions = decide(self.memories, blind, self.now)
        assert self.members == before - {name for name in NAMES if self.truth[name].drained}, "kept until it has looked"
        self.tick(0.5)

    @rule()
    def calm(self) -> None:
        """Nothing changes for longer than the longest wait: then the members are exactly those that they must be."""
        changes: dict[str, int] = dict.fromkeys(NAMES, 0)
        for _ in range(int(LONGEST_WAIT / 0.5) + 3):
            before = self.members
            self.tick(0.5)
            for name in self.members ^ before:
                changes[name] += 1
        assert max(changes.values()) <= 2, f"goes in and out though nothing changes: {changes}"
        serving = {name for name, truth in self.truth.items() if truth.serves and not truth.drained}
        assert serving <= self.members
        for name in self.members - serving:
            truth = self.truth[name]
            assert truth.what["reason"] in (*HELD, *WEAK), f"{name} is in with {truth.what}"
            assert not (truth.stalled and serving), f"{name} stays though {serving} serve"
        fallback = {name for name, truth in self.truth.items() if truth.degraded and not truth.drained}
        assert self.members or not fallback, f"nobody is in though {fallback} generate without their GPU"

    def tick(self, seconds: float) -> None:
        self.now += seconds
        for truth in self.truth.values():
            truth.looks.append((self.now, truth.what["reason"]))
        self.seen = {
            name: seen(name, truth.what, self.now, managed=name in MANAGED) for name, truth in self.truth.items()
        }
        before = self.members
        self.decide()
        self.check_change(before)

    def decide(self) -> None:
        self.memories, self.decisions = decide(self.memories, self.seen, self.now)

    def check_change(self, before: set[str]) -> None:
        for name in self.members - before:
            verdict, truth = self.seen[name].verdict, self.truth[name]
            assert verdict is not None
            assert verdict.level is Level.GENERATES, f"{name} came in without a proof: {truth.what}"
            assert truth.serves or (verdict.reason is Reason.DEGRADED and self.members <= {*NAMES} - serving(self))
        for name in before - self.members:
            truth = self.truth[name]
            excused = truth.drained or truth.gone
            assert excused or (truth.stalled and serving(self) & self.members), f"{name} went out: {truth.what}"

    @invariant()
    def nobody_is_in_who_must_not_be(self) -> None:
        for name in self.members:
            assert not self.truth[name].drained
            assert not self.truth[name].gone

    @invariant()
    def decisions_and_memories_agree(self) -> None:
        assert self.members == {name for name, decision in self.decisions.items() if decision.member}
        assert all(decision.reason and decision.evidence for decision in self.decisions.values())


def serving(machine: PoolMachine) -> set[str]:
    return {name for name, truth in machine.truth.items() if truth.serves and not truth.drained}


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)


def test_a_process_that_fails_as_often_as_it_can_returns_a_bounded_number_of_times() -> None:
    """An adversary lets it fail as soon as it is in, for an hour: nginx reloads about once a minute."""
    memories, now, returns = {"a": Memory(member=True, served="run-1")}, 0.0, []
    while now < 3600:
        word = "refused" if memories["a"].member else "ok"
        before = memories["a"].member
        memories, _ = decide(memories, {"a": seen("a", word, now)}, now)
        if memories["a"].member and not before:
            returns.append(now)
        now += 0.5
    assert all(sum(1 for at in returns if start <= at < start + 600) <= MOST_RETURNS for start in returns)
    assert returns[-1] - returns[-2] >= 60
