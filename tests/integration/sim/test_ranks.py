"""Ranks of one group as real ones behave: they meet, miss each other, and stand in each other's way."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from floor.sim.process import SimulatedEngine, free_port
from tests.integration.sim.wire import Wire, ask

CHAT = "/v1/chat/completions"
Rank = Callable[[int], SimulatedEngine]


@pytest.fixture
def rank(start: Any) -> Rank:
    """Starts a rank of a group of two; each call a new process of it."""
    port = free_port()

    def make(number: int) -> SimulatedEngine:
        where = ["--nnodes=2", f"--node-rank={number}", "--master-addr=127.0.0.1", f"--master-port={port}"]
        engine: SimulatedEngine = start(wait=False, args=[*where, *(["--headless"] if number else [])], speed_factor=20)
        return engine

    return make


def waits(engine: SimulatedEngine, seconds: float = 0.6) -> bool:
    """Whether it is still not ready after so long."""
    engine.wait_until(lambda state: not state["ready"])
    time.sleep(seconds)
    return not engine.state()["ready"]


@pytest.mark.parametrize("first", [0, 1])
def test_they_wait_for_each_other_whoever_is_first(rank: Rank, anyone: httpx.Client, first: int) -> None:
    early = rank(first)
    assert waits(early, 0.3)
    late = rank(1 - first)
    for engine in (early, late):
        engine.wait_ready()
    assert early.state()["world"] == late.state()["world"] is not None
    head, worker = (early, late) if first == 0 else (late, early)
    assert anyone.post(head.url + CHAT, json=ask(max_tokens=2)).status_code == 200
    with pytest.raises(ConnectionRefusedError):
        Wire.to(worker)
    assert worker.terminate() == 0


def test_a_head_without_its_worker_is_healthy_until_it_is_asked_for_a_generation(
    rank: Rank, anyone: httpx.Client
) -> None:
    head, worker = rank(0), rank(1)
    head.wait_ready()
    worker.kill()
    time.sleep(0.3)
    assert anyone.get(head.url + "/health").status_code == 200
    answer = anyone.post(head.url + CHAT, json=ask())
    assert answer.status_code == 500
    assert "EngineCore encountered an issue" in answer.json()["error"]["message"]
    assert head.wait(5) == 0


def test_what_runs_when_the_worker_goes_fails_and_the_head_ends(rank: Rank, anyone: httpx.Client) -> None:
    head, worker = rank(0), rank(1)
    head.wait_ready()
    with anyone.stream("POST", head.url + CHAT, json=ask(stream=True, max_tokens=2000, ignore_eos=True)) as answer:
        lines = answer.iter_lines()
        next(lines)
        worker.kill()
        assert "EngineCore encountered an issue" in "\n".join(lines)
    assert head.wait(5) == 0


def test_a_worker_that_is_left_hangs_the_next_head(rank: Rank) -> None:
    head, worker = rank(0), rank(1)
    head.wait_ready()
    head.kill()
    again = rank(0)
    assert waits(again)
    assert worker.state()["ready"]
    worker.terminate()
    rank(1)
    assert waits(again)  # nor does it go on when the left one has gone and a proper one has come


def test_generations_stand_still_while_ranks_do_not_hear_each_other(rank: Rank, anyone: httpx.Client) -> None:
    head, worker = rank(0), rank(1)
    head.wait_ready()
    worker.signal(signal.SIGSTOP)
    time.sleep(1.5)
    with pytest.raises(httpx.ReadTimeout):
        anyone.post(head.url + CHAT, json=ask(max_tokens=2), timeout=0.5)
    assert anyone.get(head.url + "/health").status_code == 200
    worker.signal(signal.SIGCONT)
    assert anyone.post(head.url + CHAT, json=ask(max_tokens=2)).status_code == 200


def test_one_that_waits_for_others_ends_when_it_is_told_to(rank: Rank) -> None:
    for number in (0, 1):
        engine = rank(number)
        engine.wait_until(lambda state: not state["ready"])
        assert engine.terminate(5) == 0
