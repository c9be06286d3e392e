"""Who is in, seen in what nginx was told and in what clients are answered."""

from __future__ import annotations

import json
import time

import httpx

from tests.integration.pool.stage import BACK, BACKENDS, OUT, SLACK, Stage, until

A, B = BACKENDS


def chat(stage: Stage) -> httpx.Response:
    body = {"model": "flagship", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    return httpx.post(f"http://127.0.0.1:{stage.port}/v1/chat/completions", json=body, timeout=10)


def test_a_killed_engine_is_out_within_three_seconds_and_back_when_its_unit_is_warm(stage: Stage) -> None:
    before = stage.reloads()
    stage.engines[A].kill()
    assert stage.await_members(B) < OUT * SLACK
    assert [chat(stage).status_code for _ in range(6)] == [200] * 6
    stage.boxes["a"].unit("activating", "run-2", "start-post")
    stage.engines[A].start()
    assert stage.members() == [B]
    stage.boxes["a"].unit("active", "run-2")
    assert stage.await_members(A, B) < BACK * SLACK
    assert stage.reloads() == before + 2


def test_with_nobody_in_clients_get_503_with_retry_after_until_the_first_copy_is_warm(stage: Stage) -> None:
    for name in BACKENDS:
        stage.boxes[name[-1]].unit("activating", "run-3", "start-post")
    for name in BACKENDS:
        stage.await_acknowledged(name)
    answer = chat(stage)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    stage.boxes["b"].unit("active", "run-3")
    assert until(lambda: chat(stage).status_code == 200) < BACK * SLACK


def test_a_drain_takes_the_last_copy_out_too_and_undraining_brings_it_back(stage: Stage) -> None:
    stage.drain(A)
    stage.drain(B, "somebody")
    stage.drain(B, "somebody else")
    stage.await_members()
    backend = stage.state()["pools"]["flagship"]["backends"][B]
    assert (backend["member"], backend["reason"], backend["drains"]) == (
        False,
        "drained",
        ["somebody", "somebody else"],
    )
    stage.undrain(B)
    assert stage.await_members(B) < BACK * SLACK


def test_copies_that_do_not_answer_for_a_while_both_stay(stage: Stage) -> None:
    """Long prompts on both: the engines are deaf, the pool waits, nginx is not reloaded."""
    before = stage.reloads()
    for engine in stage.engines.values():
        engine.fault("hang")
    backends = stage.state()["pools"]["flagship"]["backends"]
    until(lambda: {b["reason"] for b in stage.state()["pools"]["flagship"]["backends"].values()} == {"timed_out"})
    assert [backends[name]["member"] for name in BACKENDS] == [True, True]
    time.sleep(0.5)
    assert stage.members() == [A, B]
    assert stage.reloads() == before


def test_every_change_is_an_event_with_its_reason(stage: Stage) -> None:
    stage.drain(A, "ops@laptop")
    stage.await_members(B)
    event = json.loads((stage.root / "var/lib/floor/events.jsonl").read_text().splitlines()[-1])
    assert event["who"] == "pool"
    assert event["text"] == f"{A} is out: drained: drained by ops@laptop"
    assert event["data"] == {"backend": A, "member": False, "reason": "drained"}
    assert event["text"] == stage.log()[-1]
