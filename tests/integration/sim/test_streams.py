"""The framing of streams: uvicorn's own, because a proxy that is wrong must not look right."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from floor.sim.process import SimulatedEngine
from tests.integration.sim.wire import Wire, ask, post

CHAT = "/v1/chat/completions"


def chunks(body: bytes) -> list[bytes]:
    """The chunks of a chunked body, the empty last one too."""
    found = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        found.append(rest[: int(size, 16)])
        body = rest[int(size, 16) + 2 :]
    return found


def stream(**more: Any) -> bytes:
    return json.dumps(ask(stream=True, **more)).encode()


def test_each_event_is_a_chunk_of_its_own_and_comes_when_its_token_is_due(engine: SimulatedEngine) -> None:
    """With HTTP/1.1: chunked, and the first event long before the last."""
    body = stream(max_tokens=40, stream_options={"include_usage": True})
    with Wire.to(engine, post(CHAT, body, "Connection: close")) as wire:
        pieces = list(wire.pieces())
    whole = b"".join(piece for _, piece in pieces)
    head, _, body = whole.partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head.lower()
    assert [chunk.count(b"data: ") for chunk in chunks(body)] == [1] * (1 + 40 + 1 + 1) + [0]
    first = next(at for at, piece in pieces if b"data: " in piece)
    assert pieces[-1][0] - first > 0.5 * 39 / (36 * 20)


def test_to_http_1_0_it_answers_unchunked_and_closes(engine: SimulatedEngine) -> None:
    """nginx speaks HTTP/1.0 to its backends unless told otherwise."""
    with Wire.to(engine, post(CHAT, stream(max_tokens=5), version="1.0")) as wire:
        whole = wire.rest()
    head, _, body = whole.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert b"content-length" not in head.lower()
    assert body.startswith(b"data: {")
    assert body.endswith(b"data: [DONE]\n\n")


def test_headers_come_before_the_first_token(engine: SimulatedEngine) -> None:
    """A long prefill is silent behind a 200 that has been sent already."""
    engine.fault("prefill", seconds=0.4, block=False)
    with Wire.to(engine, post(CHAT, stream(max_tokens=2), "Connection: close")) as wire:
        pieces = list(wire.pieces())
    assert b"data: " not in pieces[0][1]
    assert next(at for at, piece in pieces if b"data: " in piece) - pieces[0][0] > 0.2


def test_an_idle_connection_is_closed_after_five_seconds(idle: Callable[[], tuple[float, float]]) -> None:
    """uvicorn's default, which vLLM leaves: whoever pools connections for longer loses requests."""
    shortest, longest = idle()
    assert shortest <= 5.7
    assert longest >= 4.3


def test_connections_are_reused(client: httpx.Client, engine: SimulatedEngine) -> None:
    request = b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n"
    with Wire.to(engine, request) as wire:
        wire.until(b"0.32.0")
        wire.connection.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert b"0.32.0" in wire.rest()


@pytest.mark.parametrize("streamed", [True, False])
def test_a_client_that_leaves_stops_its_generation_and_frees_its_slot(engine: SimulatedEngine, streamed: bool) -> None:
    engine.fault("slow", rate=5)
    before = engine.state()["aborted"]
    body = json.dumps(ask(stream=streamed, max_tokens=1000)).encode()
    wires = [Wire.to(engine, post(CHAT, body)) for _ in range(5)]
    engine.wait_until(lambda state: (state["running"], state["waiting"]) == (4, 1))
    for wire in wires:
        wire.connection.close()
    state = engine.wait_until(lambda state: state["running"] + state["waiting"] == 0, timeout=2)
    assert state["aborted"] - before == 5
    assert [post["outcome"] for post in state["posts"][-5:]] == ["left"] * 5


def test_a_slot_that_is_freed_goes_to_the_one_that_waits(engine: SimulatedEngine) -> None:
    engine.fault("slow", rate=5)
    wires = [Wire.to(engine, post(CHAT, stream(max_tokens=1000))) for _ in range(4)]
    engine.wait_until(lambda state: state["running"] == 4)
    with Wire.to(engine, post(CHAT, stream(max_tokens=1), "Connection: close")) as waiting:
        engine.wait_until(lambda state: state["waiting"] == 1)
        wires[0].connection.close()
        assert waiting.rest().rstrip().endswith(b"data: [DONE]\n\n\r\n0")
    for wire in wires:
        wire.connection.close()


def test_a_megabyte_of_prompt_is_read_and_counted(start: Any, anyone: httpx.Client) -> None:
    engine = start(context=400_000, prefill_rate=1e9)
    answer = anyone.post(engine.url + CHAT, json=ask("x" * 2**20, max_tokens=2))
    assert answer.json()["usage"]["prompt_tokens"] == pytest.approx(2**18, abs=10)
    last = engine.state()["posts"][-1]
    assert last["size"] > 2**20
    assert last["framing"] == str(last["size"])


def test_a_chunked_body_is_read_and_noted(engine: SimulatedEngine) -> None:
    body = json.dumps(ask(max_tokens=1)).encode()
    head = post(CHAT, b"", "Transfer-Encoding: chunked", "Connection: close").replace(b"Content-Length: 0\r\n", b"")
    with Wire.to(engine, head + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n") as wire:
        assert b"200 OK" in wire.rest()
    assert engine.state()["posts"][-1]["framing"] == "chunked"


def test_the_storys_figure_by_the_wall_clock(start: Any, anyone: httpx.Client) -> None:
    """Eight long prompts at once: 113 tok/s, times the speed factor, as its own metrics tell it."""
    engine = start(preset="long", speed_factor=20, prefill_rate=1e6)
    wires = [Wire.to(engine, post(CHAT, stream(max_tokens=3000, ignore_eos=True))) for _ in range(8)]
    engine.wait_until(lambda state: state["running"] == 8)

    def generated() -> float:
        lines = anyone.get(engine.url + "/metrics").text.splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith("vllm:generation_tokens_total{"))

    first, started = generated(), time.monotonic()
    time.sleep(0.4)
    second, ended = generated(), time.monotonic()
    for wire in wires:
        wire.connection.close()
    assert (second - first) / (ended - started) == pytest.approx(113 * 20, rel=0.25)


def test_an_answer_is_the_same_from_every_engine_with_the_same_seed(
    start: Any, client: httpx.Client, anyone: httpx.Client
) -> None:
    """Two copies of one model agree, so that a test may compare answers whichever copy gave them."""
    copy, other = start(speed_factor=20), start(speed_factor=20, seed=1)
    ours, theirs, different = (
        c.post(url + CHAT, json=ask("tell me")).json()["choices"][0]["message"]["content"]
        for c, url in ((client, ""), (anyone, copy.url), (anyone, other.url))
    )
    assert ours == theirs != different
