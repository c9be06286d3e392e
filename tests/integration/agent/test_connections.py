"""Real connections of this machine, and the programs that hold them, as /proc tells."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

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
