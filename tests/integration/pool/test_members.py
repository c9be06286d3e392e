"""Who is in, seen in nginx's own members file and answers."""

from __future__ import annotations

import httpx

from tests.integration.pool.stage import BACKENDS, Stage

A, B = BACKENDS


def chat(stage: Stage) -> httpx.Response:
    body = {"model": "flagship", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    return httpx.post(f"http://127.0.0.1:{stage.port}/v1/chat/completions", json=body, timeout=10)


def test_a_killed_engine_is_out_within_three_seconds_and_back_when_its_unit_is_warm(stage: Stage) -> None:
    before = stage.reloads()
    stage.engines[A].kill()
    assert stage.await_members(B) < 3
    assert [chat(stage).status_code for _ in range(6)] == [200] * 6
    stage.boxes["a"].unit("activating", "run-2", "start-post")
    stage.engines[A].start()
    assert stage.members() == [B]
    stage.boxes["a"].unit("active", "run-2")
    assert stage.await_members(A, B) < 2
    assert stage.reloads() == before + 2


def test_an_empty_pool_answers_503_with_retry_after(stage: Stage) -> None:
    for engine in stage.engines.values():
        engine.kill()
    assert stage.await_members() < 3
    answer = chat(stage)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "3"
