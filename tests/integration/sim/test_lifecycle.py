"""From start to end as vLLM lives: the port during a load, a stop under way, and what keeps it from starting."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.errors import FloorError
from floor.sim.process import SimulatedEngine, free_port
from tests.integration.sim.wire import Wire, ask, post

CHAT = "/v1/chat/completions"
LONG = json.dumps(ask(stream=True, max_tokens=30)).encode()


def test_it_is_ready_in_a_moment(start: Any) -> None:
    """0.2 s of processor time; the clock on the wall would measure the machine's other work."""
    engine = start()
    fields = (Path("/proc") / str(engine.pid) / "stat").read_text().rpartition(")")[2].split()
    assert (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") < 0.8


def test_while_it_loads_the_port_refuses(start: Any, anyone: httpx.Client) -> None:
    engine = start(wait=False, load_time=0.5)
    assert engine.wait_until(lambda state: not state["ready"])["pid"] == engine.pid
    with pytest.raises(ConnectionRefusedError):
        Wire.to(engine)
    engine.wait_ready()
    assert anyone.get(engine.url + "/health").status_code == 200


def test_a_port_that_is_served_is_noticed_before_the_load(start: Any) -> None:
    engine = start()
    with pytest.raises(FloorError, match=rf"cannot listen on 127.0.0.1:{engine.port}: \[Errno 98\]"):
        start(port=engine.port, load_time=60)


def test_of_two_that_load_for_one_port_the_later_ends_with_a_reason(start: Any) -> None:
    engine = start(wait=False, load_time=0.1)
    with pytest.raises(FloorError, match=rf"cannot listen on 127.0.0.1:{engine.port}: \[Errno 98\]"):
        start(port=engine.port, load_time=0.8)


def test_or_it_answers_503_as_llamacpp_does(start: Any, anyone: httpx.Client) -> None:
    engine = start(wait=False, load_time=0.5, load_mode="503")
    engine.wait_until(lambda state: not state["ready"])
    assert anyone.get(engine.url + "/health").json()["error"]["message"] == "Loading model"
    engine.wait_ready()
    assert anyone.get(engine.url + "/health").status_code == 200


def test_it_can_be_stopped_while_it_loads(start: Any) -> None:
    engine = start(wait=False, load_time=60)
    engine.wait_until(lambda state: not state["ready"])
    assert engine.terminate(timeout=5) == 0


def stream(engine: SimulatedEngine, rate: float) -> Wire:
    engine.fault("slow", rate=rate)
    wire = Wire.to(engine, post(CHAT, LONG))
    engine.wait_until(lambda state: state["running"] == 1)
    wire.connection.recv(4096)
    return wire


def test_a_stop_ends_what_runs_in_an_error_at_once(start: Any, vllm: Path) -> None:
    """As tried on a real vLLM: a last event in a stream, a 500 for a whole answer, and exit 0."""
    engine = start()
    with stream(engine, rate=2) as wire, Wire.to(engine, post(CHAT, json.dumps(ask()).encode())) as whole:
        engine.wait_until(lambda state: state["running"] == 2)
        started = time.monotonic()
        assert engine.terminate() == 0
        assert time.monotonic() - started < 3
        assert (vllm / "stop_ends_stream.txt").read_text().partition("\n\n")[0].encode() in wire.rest()
        answer = whole.rest().decode()
    captured = (vllm / "stop_ends_request.txt").read_text().splitlines()
    assert answer.startswith(captured[0])
    assert answer.endswith(captured[-1])
    assert "Shutting down" in engine.log
    assert "Traceback" not in engine.log


def test_a_stop_cuts_what_hangs_and_what_is_late(start: Any) -> None:
    engine = start()
    engine.fault("hang", times=1)
    engine.fault("slow-headers", seconds=60)
    request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    with Wire.to(engine, request), Wire.to(engine, request):
        engine.wait_until(lambda state: state["paths"].get("GET /health") == 2)
        assert engine.terminate(timeout=5) == 0
    assert "Traceback" not in engine.log


def test_a_stop_does_not_wait_for_a_client_that_reads_nothing(start: Any) -> None:
    engine = start(context=100_000, speed_factor=1e6)
    body = json.dumps(ask(stream=True, max_tokens=20_000, ignore_eos=True)).encode()
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect((engine.host, engine.port))
        reader.sendall(post(CHAT, body))
        engine.wait_until(lambda state: state["finished"] == 1)
        assert engine.state()["posts"][-1]["outcome"] == "open"
        assert engine.terminate(timeout=10) == 0
    assert "Traceback" not in engine.log


def test_with_a_shutdown_timeout_streams_end_while_new_generations_are_refused(
    start: Any, anyone: httpx.Client, vllm: Path
) -> None:
    """As tried on a real vLLM: /health goes on saying 200, so that only a drained engine can be stopped unnoticed."""
    engine = start(args=["--shutdown-timeout", "20"])
    with stream(engine, rate=30) as wire:
        engine.signal(signal.SIGTERM)
        engine.wait_until(lambda state: state["stopping"])
        assert anyone.get(engine.url + "/health").status_code == 200
        answer = anyone.post(engine.url + CHAT, json=ask())
        assert (answer.status_code, answer.text) == (500, (vllm / "stop_refuses_request.json").read_text())
        assert b"[DONE]" in wire.rest()
    assert engine.wait() == 0
    assert "stopping engine client mode=drain timeout=20s" in engine.log


def test_a_shutdown_timeout_has_an_end(start: Any) -> None:
    engine = start(args=["--shutdown-timeout=0.2"])
    with stream(engine, rate=1) as wire:
        assert engine.terminate(timeout=5) == 0
        assert b"EngineCore encountered an issue" in wire.rest()


def test_two_engines_do_not_share_a_device(start: Any, tmp_path: Path) -> None:
    first = start(device_lock=str(tmp_path / "gpu"))
    with pytest.raises(FloorError, match="on startup is less than desired GPU memory utilization") as caught:
        start(device_lock=str(tmp_path / "gpu"))
    assert "Traceback" not in str(caught.value)
    first.kill()
    start(device_lock=str(tmp_path / "gpu"))


def test_a_cache_that_holds_no_whole_request_is_refused(start: Any) -> None:
    with pytest.raises(FloorError, match=r"max seq len \(4096\), more KV cache is needed than there is \(992 tokens\)"):
        start(context=4096, kv_tokens=1000)


def test_a_full_cache_makes_requests_wait(start: Any) -> None:
    engine = start(context=1024, kv_tokens=1024, prefill_rate=1e9)
    engine.fault("slow", rate=1)
    body = json.dumps(ask("x" * 2400, stream=True, max_tokens=300)).encode()
    with Wire.to(engine, post(CHAT, body)), Wire.to(engine, post(CHAT, body)):
        engine.wait_until(lambda state: (state["running"], state["waiting"]) == (1, 1))


def test_on_ipv6(start: Any, anyone: httpx.Client) -> None:
    engine = start(host="::1")
    assert anyone.get(engine.url + "/health").status_code == 200
    engine.fault("drop")
    with pytest.raises(httpx.RemoteProtocolError):
        anyone.get(engine.url + "/health")


def run(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "floor.sim", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, env={**os.environ, **env}, check=False)


def test_help_and_version_need_no_model() -> None:
    shown = run("serve", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "--sim-load-time" in shown.stdout
    assert run("--version").stdout == "0.32.0\n"


def test_a_wrong_command_line_is_one_line_on_stderr_and_exit_2() -> None:
    ended = run("serve", "m", FLOOR_SIM_PRESET="medium")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "floor sim: FLOOR_SIM_PRESET: found 'medium'; write one of short, long\n"


def test_an_address_of_another_machine_is_refused_with_a_reason() -> None:
    ended = run("serve", "m", "--host", "192.0.2.1", "--port", "8000")
    assert ended.returncode == 1
    assert ended.stderr.startswith("floor sim: cannot listen on 192.0.2.1:8000: [Errno 99]")
    assert ended.stderr.endswith("choose another --host or --port\n")


@pytest.mark.parametrize("host", ["no such host", "x" * 70, "::z"])
def test_an_address_that_is_none_is_refused_with_a_reason(host: str) -> None:
    ended = run("serve", "m", "--host", host)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"floor sim: cannot listen on {host}:8000: ")
    assert ended.stderr.count("\n") == 1


def test_a_device_that_cannot_be_is_refused_with_a_reason() -> None:
    ended = run("serve", "m", "--host", "127.0.0.1", "--port", str(free_port()), "--sim-device-lock", "/nowhere/gpu")
    assert ended.returncode == 2
    assert ended.stderr.endswith(
        "floor sim: /nowhere/gpu: cannot be locked: No such file or directory; name a file in a folder that exists\n"
    )


def test_the_access_log_has_clients_requests_and_no_orders(
    engine: SimulatedEngine, start: Any, anyone: httpx.Client
) -> None:
    quiet = start(args=["--disable-uvicorn-access-log"])
    for each in (engine, quiet):
        anyone.get(each.url + "/health")
        each.state()
    assert '"GET /health HTTP/1.1" 200 OK' in engine.log
    assert "/sim/" not in engine.log
    assert "/health" not in quiet.log


def test_orders_from_elsewhere_need_the_token(start: Any, anyone: httpx.Client) -> None:
    """From this machine none is needed; a client through a proxy on another box looks like anybody."""
    engine = start(control_token="t", host="127.0.0.2")
    assert anyone.get(engine.url + "/sim/state").status_code == 200
    assert anyone.get(f"http://127.0.0.1:{engine.control_port}/health").status_code == 404


def test_what_was_never_started_says_so() -> None:
    with pytest.raises(FloorError, match="the simulated engine was not started"):
        SimulatedEngine().kill()
