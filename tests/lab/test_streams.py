"""Through the deployed proxy from beside the boxes: streams, long prompts, clients that leave, closed routes."""

from __future__ import annotations

import hashlib
import json
import resource
import select
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from floor.sim.routes import ADMIN_ROUTES
from tests.integration.nginx.client import Answer
from tests.lab import faults
from tests.lab.boxes import Lab
from tests.lab.deployment import set_up, until
from tests.lab.dial import Caller
from tests.lab.floor import Floor
from tests.lab.simulated import FLAGSHIP, MODELS, SECOND, Engine, Served, two_models

CHAT = "/v1/chat/completions"
ROUTES = Path(__file__).parents[1] / "cases" / "vllm" / "routes.txt"
OPEN = {
    "POST /v1/chat/completions",
    "POST /v1/chat/completions/batch",
    "POST /v1/completions",
    "POST /v1/messages",
    "POST /v1/messages/count_tokens",
    "GET /v1/models",
    "POST /v1/responses",
    "GET /v1/responses/{response_id}",
    "POST /v1/responses/{response_id}/cancel",
}
# A request that every route takes, for one token.
ANYTHING = b'{"model":"second","messages":[{"role":"user","content":"a"}],"prompt":"a","input":"a",'
ANYTHING += b'"max_tokens":1,"max_output_tokens":1}'
STREAMS = 600


@pytest.fixture(scope="module")
def lab(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Both boxes set up and two models deployed, once for this module."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(two_models(clean_lab))
    set_up(clean_lab, floor)
    floor("deploy", "--mode", "replicas")
    return clean_lab


@pytest.fixture(autouse=True)
def whole(lab: Lab) -> None:
    """Each test begins with no fault, nothing running, and both copies of both models in both pools."""

    def ready() -> bool:
        return all(len(members(lab, box, model)) == len(lab.boxes) for box in lab.boxes for model in MODELS)

    until("all copies in all pools", ready, 40)
    for model in MODELS:
        for engine in engines(lab, model):
            engine.clear()
        until("nothing runs", lambda model=model: busy(lab, model) == 0, 20)  # type: ignore[misc]


def engines(lab: Lab, model: Served) -> list[Engine]:
    return [Engine(box, model) for box in lab.boxes.values()]


def members(lab: Lab, box: str, model: Served) -> list[str]:
    state = json.loads(lab.boxes[box].read("/run/floor/pool/state.json"))
    return list(state["pools"][model.name]["members"])


def busy(lab: Lab, model: Served) -> int:
    """How many requests the engines of a model have taken and not ended."""
    return sum(state["running"] + state["waiting"] for state in (engine.state() for engine in engines(lab, model)))


def asked(lab: Lab, model: Served) -> Counter[str]:
    """What the engines of a model were asked by anybody, `METHOD /path` and how often."""
    return sum((Counter(engine.state()["paths"]) for engine in engines(lab, model)), Counter())


def body(model: Served, tokens: int = 4, *, stream: bool = True, text: str = "hello") -> bytes:
    messages = [{"role": "user", "content": text}]
    words = {"model": model.name, "messages": messages, "max_tokens": tokens, "ignore_eos": True, "stream": stream}
    return json.dumps(words).encode()


def ask(lab: Lab, target: str, data: bytes = b"", method: str = "POST", model: Served = FLAGSHIP) -> Answer:
    """One request on a connection of its own, from the client through boxa's proxy."""
    with Caller(lab, "boxa", model.listen) as caller:
        return caller.ask(target, data, method)


def test_each_event_comes_when_it_is_made_and_as_one_chunk(lab: Lab) -> None:
    """An engine under real uvicorn makes a token a second; the first is here before the third is made."""
    both = engines(lab, FLAGSHIP)
    for engine in both:
        engine.fault("slow", rate=1)
    before = [engine.metric("vllm:generation_tokens_total") for engine in both]
    data = body(FLAGSHIP, 6, text="one by one")
    with Caller(lab, "boxa", FLAGSHIP.listen) as caller:
        caller.send(CHAT, data)
        assert caller.head().status == 200
        chunks, times = [caller.chunk()], [time.monotonic()]
        if '"content":"' not in chunks[0].decode().replace('""', ""):
            chunks.append(caller.chunk())  # the opening event may have a chunk of its own
        after = [engine.metric("vllm:generation_tokens_total") for engine in both]
        (made,) = (after[at] - before[at] for at, engine in enumerate(both) if sent(engine)[digest(data)])
        while chunk := caller.chunk():
            chunks.append(chunk)
            times.append(time.monotonic())
    print(f"{made:.0f} tokens were made when the first had come; then after {[t - times[0] for t in times[1:]]} s")
    assert made < 3
    events = [chunk.decode().count("data: ") for chunk in chunks]
    # What comes at the same moment may come as one: the opening with the first token, the end with [DONE].
    assert set(events[1:-1]) == {1}
    assert chunks[-1].endswith(b"data: [DONE]\n\n")
    assert all(chunk.endswith(b"\n\n") for chunk in chunks)


def test_a_prompt_of_a_megabyte_that_is_read_in_silence(lab: Lab) -> None:
    """For eight seconds the engine answers nobody, as one that reads a long prompt; it stays where it is."""
    for engine in engines(lab, FLAGSHIP):
        engine.fault("prefill", seconds=8, block=True, times=1)
    data = body(FLAGSHIP, 3, stream=False, text="lorem ipsum " * 90_000)
    assert len(data) > 2**20
    began = time.monotonic()
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ask, lab, CHAT, data)
        sizes = set()
        while not answer.done():
            sizes.add((len(members(lab, "boxa", FLAGSHIP)), len(members(lab, "boxb", FLAGSHIP))))
            time.sleep(0.2)
    print(f"answered after {time.monotonic() - began:.1f} s")
    assert answer.result().status == 200
    assert sizes == {(2, 2)}
    posts = [post for engine in engines(lab, FLAGSHIP) for post in engine.state()["posts"]]
    (found,) = (post for post in posts if post["size"] == len(data))
    assert found["sha256"] == digest(data)
    assert found["framing"] == str(len(data))  # a Content-Length, not chunks


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_client_that_leaves_stops_its_generation(lab: Lab, stream: bool) -> None:
    for engine in engines(lab, FLAGSHIP):
        engine.fault("slow", rate=2)
    data = body(FLAGSHIP, 500, stream=stream, text=f"leaving, {stream}")
    with Caller(lab, "boxa", FLAGSHIP.listen) as caller:
        caller.send(CHAT, data)
        if stream:
            assert caller.head().status == 200
            caller.chunk()
        until("it runs", lambda: busy(lab, FLAGSHIP) >= 1, 10)
    took = until("it has stopped", lambda: busy(lab, FLAGSHIP) == 0, 4)
    print(f"stopped {took:.2f} s after the client had left")
    posts = [post for engine in engines(lab, FLAGSHIP) for post in engine.state()["posts"]]
    assert [post["outcome"] for post in posts if post["sha256"] == digest(data)] == ["left"]


def routes() -> Iterator[tuple[str, str]]:
    """Every route of a real vLLM, and those that it has in other settings."""
    for line in ROUTES.read_text().splitlines():
        methods, path = line.split()
        yield from ((method, path) for method in methods.split(","))
    for path, route in ADMIN_ROUTES.items():
        yield from ((method, path) for method in route.methods)


def test_only_the_inference_api_is_open(lab: Lab) -> None:
    """What is closed is 404 and reaches no engine; what is open is answered by one."""
    before = asked(lab, SECOND)
    for method, path in routes():
        target = path.replace("{response_id}", "resp_1")
        answer = ask(lab, target, b"" if method == "GET" else ANYTHING, method, SECOND)
        if f"{method} {path}" not in OPEN:
            assert (answer.status, answer.error["type"]) == (404, "invalid_request_error"), f"{method} {path}"
    for target in ("/v1/models/../../metrics", "//metrics", "/v1/models/%2e%2e/%2e%2e/metrics", "/METRICS", "/v1/"):
        assert ask(lab, target, method="GET", model=SECOND).status in (400, 404), target
    after = asked(lab, SECOND)
    reached = {line.replace("resp_1", "{response_id}") for line, count in (after - before).items() if count}
    # floor itself asks for these, past the proxy
    assert reached - {"GET /health", "GET /metrics"} == OPEN


def test_two_models_each_have_a_port(lab: Lab) -> None:
    for model, other in ((FLAGSHIP, SECOND), (SECOND, FLAGSHIP)):
        for box in lab.boxes:
            with Caller(lab, box, model.listen) as caller:
                listed = json.loads(caller.ask("/v1/models", method="GET").body)
            assert [entry["id"] for entry in listed["data"]] == [model.name]
        told = json.loads(ask(lab, CHAT, body(model, stream=False), model=model).body)
        assert told["model"] == model.name
        assert ask(lab, CHAT, body(other, stream=False), model=model).status == 404


def test_six_hundred_idle_streams_hold(lab: Lab) -> None:
    """All wait for their first token while the proxy is reloaded; others are served beside them. Then all leave."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    for engine in engines(lab, SECOND):
        engine.fault("prefill", seconds=50, block=False)
    began = time.monotonic()
    with ExitStack() as stack:
        streams = []
        for _ in range(STREAMS):
            streams.append(stack.enter_context(Caller(lab, "boxa", SECOND.listen, timeout=60)))
            streams[-1].send(CHAT, body(SECOND))
        assert {stream.head().status for stream in streams} == {200}
        opened = time.monotonic()
        assert busy(lab, SECOND) >= STREAMS
        lab.boxes["boxa"].run(["systemctl", "reload", "floor-proxy"])
        assert ask(lab, CHAT, body(FLAGSHIP)).status == 200
        time.sleep(5)
        ended, _, _ = select.select(streams, [], [], 0)
        assert not ended
        assert busy(lab, SECOND) >= STREAMS
        sizes = [len(members(lab, box, SECOND)) for box in lab.boxes]
        held = time.monotonic()
    took = until("all have stopped", lambda: busy(lab, SECOND) == 0, 20)
    print(f"{STREAMS} opened in {opened - began:.1f} s, held for {held - opened:.1f} s, gone after {took:.1f} s")
    assert sizes == [2, 2]


def test_a_request_that_was_sent_is_never_sent_twice(lab: Lab) -> None:
    """An engine is killed with requests in it: they fail, and the other engine never sees them."""
    left, right = engines(lab, FLAGSHIP)
    for engine in (left, right):
        engine.fault("slow", rate=3)
    bodies = [body(FLAGSHIP, 15, stream=number % 2 == 0, text=f"once, {number}") for number in range(8)]
    with ThreadPoolExecutor(len(bodies)) as threads:
        answers = [threads.submit(once, lab, data) for data in bodies]
        until("all are under way", lambda: busy(lab, FLAGSHIP) >= len(bodies), 10)
        there = sent(right)
        faults.kill(right.box, right.box.pid(FLAGSHIP.unit))
        statuses = [answer.result() for answer in answers]
    here = sent(left)
    lost = [data for data in bodies if there[digest(data)]]
    print(f"{len(lost)} of {len(bodies)} were on the engine that died; clients saw {statuses}")
    assert lost
    for data, status in zip(bodies, statuses, strict=True):
        assert here[digest(data)] + there[digest(data)] == 1
        assert (status == "whole") == (data not in lost)


def once(lab: Lab, data: bytes) -> str:
    """Send a request and tell how it ended."""
    try:
        answer = ask(lab, CHAT, data)
    except (EOFError, OSError):
        return "broken off"
    return "whole" if answer.status == 200 and b'"finish_reason":"length"' in answer.body else str(answer.status)


def sent(engine: Engine) -> Counter[str]:
    """How often an engine was sent each body."""
    return Counter(post["sha256"] for post in engine.state()["posts"])


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
