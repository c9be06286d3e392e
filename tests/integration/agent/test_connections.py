"""Real connections of this machine, and the programs that hold them, as /proc tells."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from floor.agent.call import Call
from floor.agent.calls.connections import look
from floor.agent.params import Params
from floor.box import direct
from floor.box.command import Result

JOB = "import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"


def test_a_program_that_asks_an_engine_here_is_named_and_its_arguments_are_not(tmp_path: Path) -> None:
    script = tmp_path / "batch.py"
    script.write_text(JOB)
    with socket.create_server(("127.0.0.1", 0)) as engine:
        port = engine.getsockname()[1]
        job = subprocess.Popen([sys.executable, str(script), str(port), "--key", "secret"])
        try:
            connection, _ = engine.accept()
            began = time.monotonic()
            (found,) = direct.here({port})
            took = time.monotonic() - began
            params = {"listen": [str(port)], "engines": [f"127.0.0.1:{port}"], "pages": []}
            told = look(Call(Params("connections.look", params), run=lambda *_a, **_k: Result(1, "", "")))
            connection.close()
        finally:
            job.kill()
            job.wait()
    print(f"looked in {took:.3f} s")
    assert found["connections"] == 1
    assert found["address"].endswith(("batch.py", ".service"))  # of a unit, where these tests run in one
    assert told["come"] == [{"port": port, "address": "127.0.0.1", "connections": 1}]
    (one,) = told["go"]
    assert (one["pid"], one["floors"]) == (job.pid, False)
    assert one["command"].endswith(" batch.py")
    assert "secret" not in str(told)


@pytest.mark.parametrize("engine", ["127.0.0.1:8123", "[::1]:8123"])
def test_a_job_in_a_network_of_its_own_is_named(engine: str) -> None:
    """As in a container: whom it asks is what counts, in whatever network its end lies. Both families."""
    host, _, port = engine.rpartition(":")
    family = "AF_INET6" if host == "[::1]" else "AF_INET"
    code = (
        "import socket, subprocess, time; subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True);"
        f"one = socket.create_server(({host.strip('[]')!r}, {port}), family=socket.{family});"
        f"two = socket.create_connection(({host.strip('[]')!r}, {port})); print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(["unshare", "--net", sys.executable, "-c", code], stdout=subprocess.PIPE) as job:
        try:
            assert job.stdout is not None
            assert job.stdout.readline() == b"up\n"
            params = {"listen": [], "engines": [engine, "no-address:8000"], "pages": []}
            told = look(Call(Params("connections.look", params), run=lambda *_a, **_k: Result(1, "", "")))
        finally:
            job.kill()
    (one,) = told["go"]
    assert (one["pid"], one["address"], one["port"]) == (job.pid, host.strip("[]"), 8123)
