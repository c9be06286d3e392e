"""What the real server answers is what the checks expect and what the simulated one says."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from floor.engines.llamacpp import arguments
from floor.engines.serve import Serve
from floor.healthcheck.dialects import find
from floor.sim.process import SimulatedEngine, free_port
from tests.integration.sim.test_llamacpp import ask, shape
from tests.real.llamacpp.environment import MODEL, model_folder, server_folder

KEY = "secret"


@dataclass(frozen=True)
class Real:
    url: str
    process: subprocess.Popen[bytes]
    began: list[tuple[int, dict[str, Any]]]


def start(task: str = "generate", **more: str) -> Real:
    """Start the server by floor's own words, and keep what /health said until it was ready."""
    port = free_port()
    file = model_folder() / MODEL.rsplit("/", 1)[1]
    serve = Serve(
        str(file), "gemma", "127.0.0.1", port, context=512, max_requests=2, task=task, args={"threads": 2, **more}
    )
    program = server_folder() / "bin/llama-server"
    process = subprocess.Popen(
        [program, *arguments(serve)],
        env={**os.environ, "LLAMA_API_KEY": KEY},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url, seen = f"http://127.0.0.1:{port}", []
    for _ in range(1200):
        assert process.poll() is None
        try:
            answer = httpx.get(f"{url}/health")
        except httpx.TransportError:
            time.sleep(0.05)
            continue
        seen.append((answer.status_code, answer.json()))
        if answer.status_code == 200:
            return Real(url, process, seen)
        time.sleep(0.05)
    raise AssertionError(f"not ready: {seen[-1:]}")


@pytest.fixture(scope="module")
def real() -> Iterator[Real]:
    found = start()
    yield found
    found.process.kill()
    found.process.wait()


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedEngine]:
    with SimulatedEngine("gemma", max_requests=2, context=512, key=KEY, dialect="llamacpp", speed_factor=20) as engine:
        yield engine


def both(real: Real, simulated: SimulatedEngine, method: str, path: str, **more: Any) -> list[httpx.Response]:
    headers = {"Authorization": f"Bearer {KEY}"}
    return [httpx.request(method, url + path, headers=headers, timeout=60, **more) for url in (real.url, simulated.url)]


def test_it_says_503_while_it_loads(real: Real) -> None:
    for code, body in real.began[:-1]:
        assert (code, body["error"]["message"]) == (503, "Loading model")
    assert real.began[-1] == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/health", None),
        ("GET", "/v1/models", None),
        ("GET", "/slots", None),
        ("POST", "/v1/chat/completions", ask()),
        ("POST", "/v1/completions", {"model": "gemma", "prompt": [10, 11, 12], "max_tokens": 2}),
        ("POST", "/v1/embeddings", {"model": "gemma", "input": "Hi"}),
        ("POST", "/v1/rerank", {"model": "gemma", "query": "Hi", "documents": ["Hi"]}),
        ("GET", "/nowhere", None),
        ("POST", "/v1/chat/completions", ask("word " * 3000)),
    ],
)
def test_real_and_simulated_answer_alike(
    real: Real, simulated: SimulatedEngine, method: str, path: str, body: dict[str, Any] | None
) -> None:
    theirs, ours = both(real, simulated, method, path, **({} if body is None else {"json": body}))
    assert ours.status_code == theirs.status_code
    assert shape(ours.json()) == shape(theirs.json())
    assert list(ours.headers) == list(theirs.headers)


def test_the_metrics_page_has_the_same_families(real: Real, simulated: SimulatedEngine) -> None:
    pages = both(real, simulated, "GET", "/metrics")
    names = [[line.split()[0] for line in page.text.splitlines() if not line.startswith("#")] for page in pages]
    assert names[0] == names[1]
    load = find("llamacpp").load(pages[0].content)
    assert load is not None
    assert (load.running, load.waiting) == (0, 0)
    assert load.generated is not None
    assert load.steps is not None


def test_a_stop_cuts_what_runs(real: Real) -> None:
    """Why floor waits until it is idle: SIGTERM ends it at once, with exit code 0."""
    other = start()
    headers = {"Authorization": f"Bearer {KEY}"}
    body = ask(stream=True, max_tokens=400, ignore_eos=True)
    with (
        httpx.Client(timeout=60) as client,
        client.stream("POST", other.url + "/v1/chat/completions", json=body, headers=headers) as answer,
    ):
        lines = answer.iter_lines()
        next(lines)
        began = time.monotonic()
        other.process.terminate()
        text = ""
        try:
            text = "".join(lines)
        except httpx.HTTPError as error:
            text = type(error).__name__
        print(f"ended {time.monotonic() - began:.2f} s after SIGTERM: {text[-80:]}")
    assert "[DONE]" not in text
    assert other.process.wait(30) == 0


def test_a_model_embeds() -> None:
    found = start("embed", pooling="mean")  # the model is none for embeddings and names no way itself
    try:
        headers = {"Authorization": f"Bearer {KEY}"}
        body = {"model": "gemma", "input": "word " * 300}
        answer = httpx.post(found.url + "/v1/embeddings", json=body, headers=headers, timeout=60)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["data"][0]["embedding"]) == 640
        chat = httpx.post(found.url + "/v1/chat/completions", json=ask(), headers=headers, timeout=60)
        assert chat.status_code == 200  # it goes on answering chats
        load = find("llamacpp").load(httpx.get(found.url + "/metrics", headers=headers).content)
        assert load is not None
        assert (load.prompted or 0) > 0
    finally:
        found.process.kill()
        found.process.wait()
