"""The simulated Ollama answers as the real one is documented to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.healthcheck.dialects import ollama
from floor.sim.process import SimulatedEngine
from tests.integration.sim.test_llamacpp import ask, shape

CASES = Path(__file__).parents[2] / "cases" / "ollama"


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedEngine]:
    """Two requests at once, 2048 tokens, a model named gemma that takes half a second to load."""
    with SimulatedEngine("gemma", max_requests=2, context=2048, dialect="ollama", load_time=0.5) as engine:
        yield engine


def sample(name: str) -> Any:
    return json.loads((CASES / name).read_text())


def test_it_is_up_at_once_and_loads_when_it_is_asked(server: SimulatedEngine) -> None:
    """Two who ask at once wait for one load."""
    assert httpx.get(server.url + "/api/version").status_code == 200
    assert httpx.get(server.url + "/api/ps").json() == {"models": []}
    load = ollama.load(httpx.get(server.url + "/api/ps").content)
    assert load is not None
    assert load.lacks("gemma")
    began = time.monotonic()
    other = threading.Thread(target=httpx.post, args=(server.url + "/v1/chat/completions",), kwargs={"json": ask()})
    other.start()
    assert httpx.post(server.url + "/v1/chat/completions", json=ask()).status_code == 200
    other.join()
    assert time.monotonic() - began >= 0.5
    load = ollama.load(httpx.get(server.url + "/api/ps").content)
    assert load is not None
    assert (load.resident, load.on_card, load.in_flight) == (("gemma", "gemma:latest"), 1.0, None)
    server.fault("slow", rate=40)
    load = ollama.load(httpx.get(server.url + "/api/ps").content)
    assert load is not None
    assert load.on_card == 0
    server.clear()


def test_shapes_are_the_documented_ones(server: SimulatedEngine) -> None:
    whole = httpx.post(server.url + "/v1/chat/completions", json=ask())
    assert shape(whole.json()) == shape(sample("chat.json"))
    streamed = httpx.post(server.url + "/v1/chat/completions", json=ask(stream=True)).text.strip().split("\n\n")
    assert streamed[-1] == "data: [DONE]"
    assert shape(json.loads(streamed[0][6:])) == shape(sample("chunk.json"))
    assert json.loads(streamed[-2][6:])["choices"][0]["finish_reason"] == "length"
    assert shape(httpx.get(server.url + "/v1/models").json()) == shape(sample("models.json"))
    entry = httpx.get(server.url + "/api/tags").json()["models"][0]
    assert set(entry) - {"model"} == set(sample("tags.json")["models"][0])
    assert set(httpx.get(server.url + "/api/ps").json()["models"][0]) - {"context_length"} == set(
        sample("ps.json")["models"][0]
    )


def test_names_go_with_and_without_their_tag(server: SimulatedEngine) -> None:
    for name, status in (("gemma", 200), ("gemma:latest", 200), ("other", 404)):
        answer = httpx.post(server.url + "/v1/chat/completions", json=ask() | {"model": name})
        assert answer.status_code == status
    assert answer.json()["error"] == {
        "message": "model 'other' not found",
        "type": "not_found_error",
        "param": None,
        "code": None,
    }


def test_a_foreign_origin_or_host_is_turned_away(server: SimulatedEngine) -> None:
    """O14."""
    for headers, status in (
        ({}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "http://ui.example"}, 403),
        ({"Host": "ollama.example"}, 403),
    ):
        assert httpx.get(server.url + "/v1/models", headers=headers).status_code == status, headers


def test_a_prompt_of_numbers_is_refused_and_one_that_is_too_long_is_cut(server: SimulatedEngine) -> None:
    numbers = httpx.post(server.url + "/v1/completions", json={"model": "gemma", "prompt": [1, 2], "max_tokens": 1})
    assert numbers.status_code == 400
    long = httpx.post(server.url + "/v1/completions", json={"model": "gemma", "prompt": "x" * 99_999, "max_tokens": 1})
    assert long.status_code == 200
    assert long.json()["usage"]["prompt_tokens"] <= 2048


def test_embeddings() -> None:
    with SimulatedEngine("gemma", dialect="ollama", args=["--task=embed"]) as engine:
        answer = httpx.post(engine.url + "/v1/embeddings", json={"model": "gemma:latest", "input": "one"})
        assert len(answer.json()["data"][0]["embedding"]) == 8
        assert httpx.post(engine.url + "/v1/chat/completions", json=ask()).status_code == 400
