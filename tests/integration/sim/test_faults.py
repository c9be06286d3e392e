"""Every fault does what it says, and its end is its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.errors import FloorError
from floor.sim.faults import KINDS
from floor.sim.process import SimulatedEngine, free_port
from tests.integration.sim.wire import Wire, ask, post

CHAT = "/v1/chat/completions"
STREAM = json.dumps(ask(stream=True, max_tokens=10)).encode()


@contextlib.contextmanager
def generating(engine: SimulatedEngine) -> Iterator[Wire]:
    """A stream that is under way."""
    engine.fault("slow", rate=20)
    body = json.dumps(ask(stream=True, max_tokens=1000)).encode()
    with Wire.to(engine, post(CHAT, body)) as wire:
        engine.wait_until(lambda state: state["running"] == 1)
        yield wire


def test_refuse_closes_the_port_and_idle_connections_but_not_a_stream(engine: SimulatedEngine) -> None:
    with generating(engine) as wire, Wire.to(engine) as idle:
        wire.connection.recv(4096)
        engine.fault("refuse")
        with pytest.raises(ConnectionRefusedError):
            Wire.to(engine)
        assert idle.rest() == b""
        assert wire.connection.recv(4096)
        engine.clear("refuse")
        Wire.to(engine).connection.close()


def test_refuse_with_cut_ends_streams_too(engine: SimulatedEngine) -> None:
    with generating(engine) as wire:
        engine.fault("refuse", cut=True)
        assert not wire.rest().endswith(b"0\r\n\r\n")
        assert engine.wait_until(lambda state: state["running"] == 0)["posts"][-1]["outcome"] == "left"


def test_refuse_for_a_while_listens_again_by_itself(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("refuse", for_=0.2)
    with pytest.raises(ConnectionRefusedError):
        Wire.to(engine)
    engine.wait_until(lambda state: state["faults"] == [])
    assert client.get("/health").status_code == 200


def test_a_port_that_was_taken_meanwhile_ends_the_engine_with_a_reason(start: Any) -> None:
    engine = start()
    engine.fault("refuse")
    with socket.create_server((engine.host, engine.port)):
        with contextlib.suppress(OSError):
            engine.clear()
        assert engine.wait() == 1
    assert f"floor sim: cannot listen on 127.0.0.1:{engine.port}: [Errno 98] Address already in use" in engine.log
    assert "Traceback" not in engine.log


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/metrics"])
def test_hang_accepts_and_never_answers(engine: SimulatedEngine, client: httpx.Client, path: str) -> None:
    engine.fault("hang")
    with pytest.raises(httpx.ReadTimeout):
        client.get(path, timeout=0.15)
    engine.clear()
    assert client.get(path).status_code == 200


def test_drop_closes_without_a_word(engine: SimulatedEngine) -> None:
    engine.fault("drop")
    with Wire.to(engine, b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n") as wire:
        assert wire.rest() == b""


def test_a_dead_scheduler_answers_200_and_generates_nothing(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("dead")
    with Wire.to(engine, post(CHAT, STREAM)) as wire:
        engine.wait_until(lambda state: state["running"] == 1)
        assert [client.get(path).status_code for path in ("/health", "/v1/models", "/version")] == [200] * 3
        assert 'vllm:num_requests_running{engine="0",model_name="flagship"} 1.0' in client.get("/metrics").text
        time.sleep(0.1)
        assert b"data: " not in wire.connection.recv(4096)
        engine.clear()
        assert b"data: " in wire.connection.recv(4096)


def test_a_stream_under_way_stops_in_a_dead_scheduler(engine: SimulatedEngine) -> None:
    with generating(engine) as wire:
        engine.fault("dead")
        wire.connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            wire.rest()


def test_die_ends_the_process_as_told(start: Any) -> None:
    engine = start()
    for settings, code in (({}, -signal.SIGKILL), ({"how": "exit", "code": 3}, 3), ({"how": "exit", "code": 0}, 0)):
        engine.fault("die", **settings)
        assert engine.wait() == code
        with pytest.raises(ConnectionRefusedError):
            Wire.to(engine)
        engine.start()


def test_die_after_a_while_and_on_a_request(start: Any, anyone: httpx.Client) -> None:
    engine = start()
    engine.fault("die", after=0.2)
    assert anyone.get(engine.url + "/health").status_code == 200
    assert engine.wait() == -signal.SIGKILL
    engine.start()
    engine.fault("die", on="request")
    assert anyone.get(engine.url + "/v1/models").status_code == 200
    with pytest.raises(httpx.RemoteProtocolError):
        anyone.post(engine.url + CHAT, json=ask())
    assert engine.wait() == -signal.SIGKILL


def test_a_death_that_is_called_off_does_not_come(engine: SimulatedEngine) -> None:
    engine.fault("die", after=0.2)
    engine.clear("die")
    time.sleep(0.3)
    assert engine.state()["ready"]


def test_a_blocking_prefill_silences_health_too_and_then_streams(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("prefill", seconds=0.8, times=1)
    with Wire.to(engine, post(CHAT, STREAM, "Connection: close")) as wire:
        time.sleep(0.2)
        with pytest.raises(httpx.ReadTimeout):
            client.get("/health", timeout=0.2)
        assert wire.rest().endswith(b"0\r\n\r\n")
    assert client.get("/health").status_code == 200


def test_a_prefill_that_does_not_block_leaves_health_alone(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("prefill", seconds=0.6, block=False)
    started = time.monotonic()
    with Wire.to(engine, post(CHAT, STREAM, "Connection: close")) as wire:
        assert client.get("/health").status_code == 200
        assert time.monotonic() - started < 0.6
        assert wire.rest().endswith(b"0\r\n\r\n")
    assert time.monotonic() - started > 0.6


def test_unauthorized_refuses_every_key(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("unauthorized")
    answer = client.get("/v1/models")
    assert (answer.status_code, answer.json()) == (401, {"error": "Unauthorized"})
    assert client.get("/health").status_code == 200


def test_wrong_model_serves_another_name(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("wrong-model", name="other")
    assert client.get("/v1/models").json()["data"][0]["id"] == "other"
    assert client.post(CHAT, json=ask()).status_code == 404


def test_error_meets_generations_or_everything(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("error", times=1)
    answer = client.post(CHAT, json=ask())
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "InternalServerError")
    assert client.post(CHAT, json=ask(max_tokens=1)).status_code == 200
    engine.fault("error", status=503)
    assert [client.get("/health").status_code, client.post(CHAT, json=ask()).status_code] == [200, 503]
    engine.fault("error", status=502, routes="all")
    assert [client.get("/health").status_code, client.post(CHAT, json=ask()).status_code] == [502, 502]


def test_slow_is_slow_and_its_end_is_its_end(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("slow", rate=10)
    started = time.monotonic()
    client.post(CHAT, json=ask(max_tokens=4))
    assert time.monotonic() - started > 0.25
    engine.clear()
    started = time.monotonic()
    client.post(CHAT, json=ask(max_tokens=40))
    assert time.monotonic() - started < 3


def test_slow_headers_come_late(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("slow-headers", seconds=0.3)
    started = time.monotonic()
    assert client.get("/health").status_code == 200
    assert time.monotonic() - started >= 0.3


def test_truncate_cuts_a_stream_without_an_end(engine: SimulatedEngine) -> None:
    engine.fault("truncate", events=3, times=1)
    with Wire.to(engine, post(CHAT, STREAM)) as wire:
        whole = wire.rest()
    assert whole.count(b'"content":" ') == 2  # the first token of three has no space before it
    assert b"[DONE]" not in whole
    assert not whole.endswith(b"0\r\n\r\n")
    assert engine.state()["posts"][-1]["outcome"] == "cut"
    with Wire.to(engine, post(CHAT, STREAM, "Connection: close")) as wire:
        assert wire.rest().endswith(b"0\r\n\r\n")


def test_a_stream_error_is_an_event_and_a_proper_end(engine: SimulatedEngine) -> None:
    engine.fault("stream-error", events=2)
    with Wire.to(engine, post(CHAT, STREAM, "Connection: close")) as wire:
        whole = wire.rest()
    assert b'data: {"error": {"message": "EngineCore encountered an issue.' in whole
    assert whole.endswith(b"0\r\n\r\n")


def test_loading_is_a_503_in_llamacpps_words(engine: SimulatedEngine, client: httpx.Client) -> None:
    captured = Path(__file__).parents[2] / "cases" / "llamacpp" / "health_loading_503.json"
    engine.fault("loading")
    for path in ("/health", "/v1/models"):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (503, captured.read_text())


def test_an_older_llamacpp_lists_its_models_while_it_loads(engine: SimulatedEngine, client: httpx.Client) -> None:
    engine.fault("loading", models=True)
    assert [client.get(path).status_code for path in ("/health", "/v1/models")] == [503, 200]


def processes(name: str) -> list[int]:
    """Pids of those whose command line is `name`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes().rstrip(b"\0") == name.encode():
                found.append(int(folder.name))
    return found


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_an_orphan_outlives_its_engine_with_its_port_and_its_device(start: Any, tmp_path: Path) -> None:
    """As vLLM's engine process after its API server was killed: the port is free, the memory is not."""
    device, port, others = tmp_path / "device", free_port(), set(processes("VLLM::EngineCore"))
    engine = start(device_lock=str(device))
    engine.fault("orphan", lifetime=30, port=port)
    deadline = time.monotonic() + 5
    while not (found := set(processes("VLLM::EngineCore")) - others) and time.monotonic() < deadline:
        time.sleep(0.01)
    engine.kill()
    (orphan,) = found
    try:
        assert (Path("/proc") / str(orphan) / "comm").read_text() == "VLLM::EngineCor\n"
        assert listens(port)
        assert not listens(engine.port)
        os.kill(orphan, signal.SIGTERM)
        with pytest.raises(FloorError, match="Free memory on device cuda:0"):
            engine.start()
    finally:
        os.kill(orphan, signal.SIGKILL)
    engine.start()


def test_an_orphans_life_is_bounded(start: Any) -> None:
    others = set(processes("VLLM::EngineCore"))
    engine = start()
    engine.fault("orphan", lifetime=0.5)
    soon = time.monotonic() + 5
    while not set(processes("VLLM::EngineCore")) - others and time.monotonic() < soon:
        time.sleep(0.01)
    engine.kill()
    while set(processes("VLLM::EngineCore")) - others and time.monotonic() < soon:
        time.sleep(0.01)
    assert time.monotonic() < soon


def test_memory_is_taken_and_given_back(engine: SimulatedEngine) -> None:
    def resident() -> int:
        return int((Path("/proc") / str(engine.pid) / "statm").read_text().split()[1]) * 4096

    before = resident()
    engine.fault("memory", mib=64)
    assert resident() - before > 60 * 2**20
    engine.clear("memory")
    assert resident() - before < 20 * 2**20


@pytest.mark.parametrize(
    ("order", "error"),
    [
        ({"fault": "explode"}, "fault 'explode': no such fault; write one of"),
        ({"fault": "memory", "mib": 99999}, "fault memory: mib is 99999; at most 4096"),
        ({"clear": "explode"}, "fault 'explode': no such fault"),
        ({"fault": "orphan", "lock": "/nowhere/lock"}, "/nowhere/lock: cannot be locked: No such file or directory"),
        ({"fault": "orphan", "port": 70000}, "fault orphan: port 70000 of 127.0.0.1 is not to be had"),
        ({}, 'an order is {"fault": KIND, "setting": value, …} or {"clear": KIND or true}'),
        ([], "1 validation error"),
    ],
    ids=str,
)
def test_a_wrong_order_is_refused_with_the_reason(
    engine: SimulatedEngine, client: httpx.Client, order: Any, error: str
) -> None:
    answer = client.post("/sim/faults", json=order)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(error)
    assert engine.state()["faults"] == []


def test_faults_can_be_in_force_from_the_start(start: Any, anyone: httpx.Client) -> None:
    engine = start(args=["--sim-fault", "wrong-model:name=other", "--sim-fault", "refuse"])
    assert engine.state()["faults"] == ["refuse", "wrong-model"]
    with pytest.raises(ConnectionRefusedError):
        Wire.to(engine)
    engine.clear("refuse")
    assert anyone.get(engine.url + "/v1/models").json()["data"][0]["id"] == "other"


def test_every_fault_has_a_test() -> None:
    here = Path(__file__)  # what can be spoilt in an answer by the book, each by itself, is tested there
    spoilt = here.parents[1] / "tooltest/test_run.py"
    files = dict.fromkeys(KINDS, here) | {"tools": spoilt}
    assert [kind for kind, file in files.items() if f'"{kind}"' not in file.read_text()] == []
