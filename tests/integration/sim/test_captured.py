"""The same requests as were sent to a real vLLM get the same statuses, headers and bodies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.sim.process import SimulatedEngine
from tests.integration.sim.wire import ask

ROUTES = (Path(__file__).parents[2] / "cases" / "vllm" / "routes.txt").read_text().splitlines()


def captured(path: Path) -> tuple[int, list[str], str]:
    """(status, header names in order, body) of a captured answer."""
    head, _, body = path.read_text().partition("\n\n")
    status, *headers = head.splitlines()
    return int(status.split()[1]), [line.partition(":")[0].lower() for line in headers], body


def compare(answer: httpx.Response, path: Path) -> str:
    """Status and header names must be the captured ones; the captured body is returned."""
    status, headers, body = captured(path)
    assert answer.status_code == status
    assert [name.lower() for name in answer.headers] == headers
    assert answer.headers["server"] == "uvicorn"
    return body


def shape(value: Any) -> Any:
    """Keys and the types below them."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value[:1]] if isinstance(value, list) else type(value).__name__


def test_health(client: httpx.Client, vllm: Path) -> None:
    answer = client.get("/health")
    assert answer.text == compare(answer, vllm / "health.txt")


def test_a_chat(client: httpx.Client, vllm: Path) -> None:
    answer = client.post("/v1/chat/completions", json=ask(max_tokens=8))
    assert shape(answer.json()) == shape(json.loads(compare(answer, vllm / "chat.txt")))


def test_a_streamed_chat(client: httpx.Client, vllm: Path) -> None:
    body = ask(max_tokens=8, stream=True, stream_options={"include_usage": True})
    answer = client.post("/v1/chat/completions", json=body)
    theirs = compare(answer, vllm / "chat_stream.txt").strip().split("\n\n")
    ours = answer.text.strip().split("\n\n")
    for own, their in [(ours[0], theirs[0]), (ours[-2], theirs[2])]:
        assert shape(json.loads(own[6:])) == shape(json.loads(their[6:]))
    assert ours[-1] == theirs[-1] == "data: [DONE]"
    assert len(ours) == 1 + 8 + 2


def test_without_a_key(engine: SimulatedEngine, anyone: httpx.Client, vllm: Path) -> None:
    answer = anyone.post(engine.url + "/v1/chat/completions", json=ask())
    assert answer.text == compare(answer, vllm / "unauthorized.txt")


def test_with_a_wrong_key_or_scheme(engine: SimulatedEngine, anyone: httpx.Client) -> None:
    for value in ("Bearer wrong", "Basic secret", "secret"):
        assert anyone.get(engine.url + "/v1/models", headers={"authorization": value}).status_code == 401


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("wrong_model.txt", json.dumps(ask() | {"model": "nope"}), "application/json"),
        ("too_long.txt", json.dumps(ask("x" * 20_000)), "application/json"),
        ("bad_json.txt", "{bad", "application/json; charset=utf-8"),
        ("list_body.txt", "[]", "application/json"),
        ("wrong_media_type.txt", json.dumps(ask()), "text/plain"),
    ],
)
def test_what_a_client_does_wrong(client: httpx.Client, vllm: Path, name: str, content: str, kind: str) -> None:
    answer = client.post("/v1/chat/completions", content=content, headers={"content-type": kind})
    assert answer.text == compare(answer, vllm / name)


def test_wrong_paths_and_methods(client: httpx.Client, vllm: Path) -> None:
    for name, path in (("unknown_path", "/nope"), ("wrong_method", "/v1/chat/completions")):
        answer = client.get(path)
        assert answer.text == compare(answer, vllm / f"{name}.txt")
    answer = client.get("/v1/responses/resp_x")
    assert answer.text == compare(answer, vllm / "unknown_response.txt")


def test_which_paths_ask_for_the_key(engine: SimulatedEngine, anyone: httpx.Client, vllm: Path) -> None:
    """As captured, by GET without a key; the development routes that gave 404 there are switched on here."""
    for line in (vllm / "without_key.txt").read_text().splitlines():
        path, status = line.split()
        expected = {"/pause": 405, "/is_paused": 200, "/server_info": 200}.get(path, int(status))
        assert anyone.get(engine.url + path).status_code == expected, path


def test_development_routes_are_off_unless_asked_for(start: Any, anyone: httpx.Client) -> None:
    plain = start()
    for path in ("/pause", "/is_paused", "/sleep", "/server_info", "/v1/load_lora_adapter", "/start_profile"):
        assert anyone.post(plain.url + path).status_code == 404


@pytest.mark.parametrize("line", ROUTES)
def test_every_captured_route_is_there(client: httpx.Client, line: str) -> None:
    """Each method of each route is served, and another method is refused with 405."""
    methods, path = line.split()
    for method in methods.split(","):
        answer = client.request(method, path.format(response_id="resp_1"), json={} if method == "POST" else None)
        assert answer.status_code != 405
        assert answer.json() != {"detail": "Not Found"} if answer.content and path != "/metrics" else True
    other = client.request("DELETE", path.format(response_id="resp_1"))
    assert (other.status_code, other.headers["allow"]) == (405, methods.replace(",", ", "))


def test_version_and_models(client: httpx.Client, vllm: Path) -> None:
    assert client.get("/version").text == (vllm / "version.json").read_text()
    models = client.get("/v1/models").json()
    assert shape(models) == shape(json.loads((vllm / "models.json").read_text()))
    assert (models["data"][0]["id"], models["data"][0]["max_model_len"]) == ("flagship", 2048)


ASKS = {"origin": "http://x", "access-control-request-method": "GET"}


def test_a_browsers_origin_is_not_allowed_unless_it_was_named(
    client: httpx.Client, start: Any, anyone: httpx.Client, vllm: Path
) -> None:
    answer = client.options("/v1/models", headers=ASKS)
    assert (answer.status_code, answer.text) == (400, captured(vllm / "preflight.txt")[2])
    assert "access-control-allow-origin" not in client.get("/health", headers=ASKS).headers
    open_to_all = start(args=["--allowed-origins", '["*"]'])
    assert anyone.options(open_to_all.url + "/v1/models", headers=ASKS).status_code == 200
    assert anyone.get(open_to_all.url + "/health", headers=ASKS).headers["access-control-allow-origin"] == "*"


def test_the_metrics_page_shows_what_was_done(client: httpx.Client, engine: SimulatedEngine, vllm: Path) -> None:
    def read(name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name + "{"))

    before = read("vllm:generation_tokens_total"), read("vllm:iteration_tokens_total_count")
    client.post("/v1/chat/completions", json=ask(max_tokens=8))
    after = read("vllm:generation_tokens_total"), read("vllm:iteration_tokens_total_count")
    assert (after[0] - before[0], after[1] - before[1]) == (8, 8)
    page = client.get("/metrics")
    assert page.headers["content-type"] == "text/plain; version=1.0.0; charset=utf-8"
    theirs = [line for line in (vllm / "metrics_busy.txt").read_text().splitlines() if line.startswith("# TYPE")]
    assert [line for line in page.text.splitlines() if line.startswith("# TYPE")] == theirs


def counted(client: httpx.Client, *parts: str) -> float:
    """The sum of the samples whose line has all of `parts`."""
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if all(part in line for part in parts) and line[0] != "#")


def test_requests_are_counted_by_route_method_and_kind_of_status(client: httpx.Client) -> None:
    """As the captured page counts them: unknown paths as none, probes and the page itself not at all."""
    good = 'http_requests_total{handler="/v1/models",method="GET",status="2xx"}'
    none = 'http_requests_total{handler="none",method="GET",status="4xx"}'
    before = counted(client, good), counted(client, none)
    client.get("/v1/models")
    client.get("/nope")
    client.get("/health")
    assert (counted(client, good) - before[0], counted(client, none) - before[1]) == (1, 1)
    assert counted(client, "http_", "/health") == counted(client, "http_", '"/metrics"') == 0
    size, page = counted(client, "http_response_size_bytes_sum", "/v1/models"), client.get("/v1/models").content
    assert counted(client, "http_response_size_bytes_sum", "/v1/models") == size + len(page)


def test_tool_calls_are_counted(client: httpx.Client) -> None:
    tool = {"type": "function", "function": {"name": "get_weather"}}
    family, whole = "vllm:tool_call_parser_invocations_total", 'mode="non_streaming"'
    before = [counted(client, family, whole, f'outcome="{word}"') for word in ("tool_call", "no_tool_call")]
    called = client.post("/v1/chat/completions", json=ask("call get_weather", tools=[tool])).json()["choices"][0]
    answered = client.post("/v1/chat/completions", json=ask("hello", tools=[tool])).json()["choices"][0]
    assert (called["finish_reason"], called["message"]["tool_calls"][0]["function"]["name"]) == (
        "tool_calls",
        "get_weather",
    )
    assert answered["message"]["content"]
    after = [counted(client, family, whole, f'outcome="{word}"') for word in ("tool_call", "no_tool_call")]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1]


def test_a_client_that_left_is_an_abort_in_the_metrics(client: httpx.Client, engine: SimulatedEngine) -> None:
    aborts = 'vllm:request_success_total{engine="0",finished_reason="abort"'
    before = counted(client, aborts)
    engine.fault("slow", rate=1)
    with pytest.raises(httpx.ReadTimeout):
        client.post("/v1/chat/completions", json=ask(), timeout=0.2)
    engine.wait_until(lambda state: state["running"] == 0)
    assert counted(client, aborts) - before == 1
    assert counted(client, "vllm:num_requests_running") == 0


def test_load_counts_requests_only_when_vllm_would(start: Any, anyone: httpx.Client) -> None:
    tracking = start(args=["--enable-server-load-tracking"])
    assert anyone.get(tracking.url + "/load").json() == {"server_load": 1}


def test_pausing_and_sleeping_stop_generations(client: httpx.Client, engine: SimulatedEngine) -> None:
    for stop, go, question in (("/pause", "/resume", "/is_paused"), ("/sleep", "/wake_up", "/is_sleeping")):
        client.post(stop)
        assert list(client.get(question).json().values()) == [True]
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", json=ask(max_tokens=2), timeout=0.2)
        client.post(go)
        assert client.post("/v1/chat/completions", json=ask(max_tokens=2)).status_code == 200


def test_sagemakers_way_in(client: httpx.Client) -> None:
    assert client.post("/invocations", json=ask(max_tokens=2)).json()["object"] == "chat.completion"
    assert client.post("/invocations", json={"prompt": "x", "max_tokens": 2}).json()["object"] == "text_completion"


def test_tokens_there_and_back(client: httpx.Client) -> None:
    counted = client.post("/tokenize", json={"prompt": "x" * 40}).json()
    assert (counted["count"], len(counted["tokens"]), counted["max_model_len"]) == (10, 10, 2048)
    assert len(client.post("/detokenize", json={"tokens": counted["tokens"]}).json()["prompt"].split()) == 10
    assert client.post("/v1/messages/count_tokens", json={"messages": ["x" * 36]}).json()["input_tokens"] == 10
