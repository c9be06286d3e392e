"""The simulated llama.cpp server answers as a captured one did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.healthcheck.dialects import llamacpp
from floor.sim.process import SimulatedEngine

CASES = Path(__file__).parents[2] / "cases" / "llamacpp"
KEY = "secret"


@pytest.fixture(scope="module")
def llama() -> Iterator[SimulatedEngine]:
    """Two slots of 2048 tokens, a key, 20 times as fast."""
    with SimulatedEngine(
        "gemma", max_requests=2, context=2048, key=KEY, dialect="llamacpp", speed_factor=20, answer_tokens="12"
    ) as engine:
        yield engine


@pytest.fixture(scope="module")
def client(llama: SimulatedEngine) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=llama.url, headers={"authorization": f"Bearer {KEY}"}, timeout=10) as client:
        yield client


def captured(name: str) -> tuple[int, dict[str, str], str]:
    """(status, headers, body) of a captured answer."""
    head, _, body = (CASES / name).read_text().replace("\r\n", "\n").partition("\n\n")
    status, *lines = head.splitlines()
    headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return int(status.split()[1]), headers, body


def shape(value: Any) -> Any:
    """Keys and the types below them; numbers are numbers."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value[:1]]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def ask(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "gemma", "messages": [{"role": "user", "content": text}], "max_tokens": 8, **more}


def alike(answer: httpx.Response, name: str) -> str:
    """Status, headers and their values are the captured ones; the captured body is returned."""
    status, headers, body = captured(name)
    assert answer.status_code == status
    changing = {"content-length"}
    ours = {key: value for key, value in answer.headers.items() if key not in changing}
    assert ours == {key: value for key, value in headers.items() if key not in changing}
    return body


def test_a_chat_whole_and_streamed(client: httpx.Client) -> None:
    whole = client.post("/v1/chat/completions", json=ask())
    assert shape(whole.json()) == shape(json.loads(alike(whole, "chat.txt")))
    streamed = client.post("/v1/chat/completions", json=ask(stream=True))
    theirs = alike(streamed, "chat_stream.txt").strip().split("\n\n")
    ours = streamed.text.strip().split("\n\n")
    assert ours[-1] == theirs[-1] == "data: [DONE]"
    for at in (0, 1):
        assert shape(json.loads(ours[at][6:])) == shape(json.loads(theirs[at][6:]))
    text = "".join(json.loads(line[6:])["choices"][0]["delta"].get("content") or "" for line in ours[:-1])
    assert text == whole.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("name", "path", "content"),
    [
        ("bad_json.txt", "/v1/chat/completions", "{bad"),
        ("too_long.txt", "/v1/chat/completions", json.dumps(ask("x" * 20_000))),
        ("embeddings_unsupported.txt", "/v1/embeddings", json.dumps({"input": "hi"})),
    ],
)
def test_what_is_refused(client: httpx.Client, name: str, path: str, content: str) -> None:
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    theirs = json.loads(alike(answer, name))
    assert shape(answer.json()) == shape(theirs)
    assert answer.json()["error"]["type"] == theirs["error"]["type"]


def test_only_health_needs_no_key(llama: SimulatedEngine) -> None:
    assert httpx.get(llama.url + "/health").text == (CASES / "health_200.json").read_text()
    for path in ("/v1/models", "/metrics", "/slots", "/props"):
        answer = httpx.get(llama.url + path)
        assert (answer.status_code, answer.json()) == (401, json.loads((CASES / "unauthorized_401.json").read_text()))


def test_models_slots_and_props(client: httpx.Client) -> None:
    assert shape(client.get("/v1/models").json()) == shape(json.loads((CASES / "models.json").read_text()))
    assert shape(client.get("/slots").json()) == shape(json.loads((CASES / "slots_idle.json").read_text()))
    props = json.loads((CASES / "props.json").read_text())
    assert set(client.get("/props").json()) <= set(props)


def test_tokens_are_counted_when_a_slot_is_released_and_steps_at_once(
    llama: SimulatedEngine, client: httpx.Client
) -> None:
    page = client.get("/metrics").text
    names = [line.split()[0] for line in page.splitlines() if not line.startswith("#")]
    theirs = (CASES / "metrics_idle.txt").read_text()
    assert names == [line.split()[0] for line in theirs.splitlines() if not line.startswith("#")]
    assert [x for x in page.splitlines() if x.startswith("#")] == [x for x in theirs.splitlines() if x.startswith("#")]
    before = llamacpp.load(page.encode())
    llama.fault("slow", rate=40)
    with client.stream("POST", "/v1/chat/completions", json=ask(stream=True, max_tokens=400, ignore_eos=True)) as one:
        lines = one.iter_lines()
        for _ in range(12):
            next(lines)
        during = llamacpp.load(client.get("/metrics").content)
        busy = client.get("/slots").json()[0]
        assert set(busy) == set(json.loads((CASES / "slots_busy.json").read_text())[0])
    llama.clear()
    llama.wait_until(lambda state: state["running"] == 0)
    after = llamacpp.load(client.get("/metrics").content)
    assert before is not None
    assert during is not None
    assert after is not None
    assert (during.running, during.generated) == (1, before.generated)
    assert during.steps is not None
    assert during.steps > (before.steps or 0)
    assert (after.running, after.waiting) == (0, 0)
    assert (after.generated or 0) > (before.generated or 0)


def test_it_answers_503_to_everything_while_it_loads() -> None:
    loading = json.loads((CASES / "health_loading_503.json").read_text())
    engine = SimulatedEngine("gemma", dialect="llamacpp", load_time=1.5, wait=False)
    with engine:
        engine.wait_until(lambda state: not state["ready"])
        for path in ("/health", "/v1/models"):
            answer = httpx.get(engine.url + path)
            assert (answer.status_code, answer.json()) == (503, loading)
        engine.wait_ready()
        assert httpx.get(engine.url + "/health").status_code == 200
        assert httpx.get(engine.url + "/metrics").status_code == 200


def test_a_stop_cuts_what_runs(llama: SimulatedEngine) -> None:
    with SimulatedEngine("gemma", dialect="llamacpp", answer_tokens="4000") as engine, httpx.Client() as client:
        with client.stream("POST", engine.url + "/v1/chat/completions", json=ask(stream=True, max_tokens=4000)) as one:
            lines = one.iter_lines()
            next(lines)
            engine.terminate()
            with pytest.raises(httpx.HTTPError):
                list(lines)
        assert engine.wait() == 0


def test_embeddings() -> None:
    with SimulatedEngine("gemma", dialect="llamacpp", args=["--embeddings"]) as engine:
        answer = httpx.post(engine.url + "/v1/embeddings", json={"model": "gemma", "input": ["one", "two"]})
        assert shape(answer.json()) == shape(json.loads(alike(answer, "embeddings.txt")))
        long = httpx.post(engine.url + "/v1/embeddings", json={"input": "x" * 99_999})
        assert (long.status_code, long.json()["error"]["type"]) == (500, "server_error")
        assert [len(entry["embedding"]) for entry in answer.json()["data"]] == [8, 8]
        assert answer.json()["usage"]["prompt_tokens"] > 0
        load = llamacpp.load(httpx.get(engine.url + "/metrics").content)
        assert load is not None
        assert (load.generated, load.prompted) == (0, 2)
        assert httpx.post(engine.url + "/v1/chat/completions", json=ask()).status_code == 200
