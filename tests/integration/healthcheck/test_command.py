"""The command as a person or a monitoring system runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from floor.sim.process import SimulatedEngine, free_port


def run(*argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "floor.healthcheck", *argv],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env={**os.environ, **(env or {})},
    )


def test_ok(engine: SimulatedEngine) -> None:
    result = run(engine.url)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"OK flagship at {engine.url}: generates, 1 token in ")


def test_json_and_a_key_from_the_environment() -> None:
    with SimulatedEngine("flagship", key="sk-right") as engine:
        result = run(engine.url, "--json", env={"FLOOR_ENGINE_KEY": "sk-right"})
        assert result.returncode == 0, result
        assert json.loads(result.stdout)["healthy"] is True
        assert run(engine.url).returncode == 3


def test_critical_and_warning(engine: SimulatedEngine) -> None:
    """0, 1, 2 and 3 are what monitoring plugins mean by them."""
    engine.fault("loading")
    assert run(engine.url).returncode == 1
    engine.clear()
    engine.fault("dead")
    began = time.monotonic()
    result = run(engine.url, "--timeout", "0.6")
    assert result.returncode == 2
    assert "timed out: idle, yet POST /v1/chat/completions" in result.stdout
    assert time.monotonic() - began < 0.6 + 1 + 3, "the start of Python comes on top"


def test_refused() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    result = run(url)
    assert result.returncode == 2
    assert result.stdout == f"CRITICAL engine at {url}: refused: GET /health: connection refused\n"


def test_usage_errors_have_no_traceback() -> None:
    for argv in (["http://[::1"], ["http://127.0.0.1:1", "--timeout", "never"]):
        result = run(*argv)
        assert result.returncode == 3, argv
        assert "Traceback" not in result.stdout + result.stderr


def test_a_reader_that_has_gone(engine: SimulatedEngine) -> None:
    """The exit code still tells."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        argv = [sys.executable, "-m", "floor.healthcheck", engine.url]
        result = subprocess.run(argv, stdout=gone, stderr=subprocess.PIPE, timeout=20, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


def test_a_full_disk(engine: SimulatedEngine) -> None:
    argv = [sys.executable, "-m", "floor.healthcheck", engine.url]
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, timeout=20, check=False)
    message = b"the answer could not be written: No space left on device\n"
    assert (result.returncode, result.stderr) == (0, message)


def test_a_dead_name_server_does_not_hold_the_command(tmp_path: Path) -> None:
    """The look-up sits in a thread that cannot be stopped; the command ends without it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import socket, time\n"
        "def getaddrinfo(*args, **kwargs):\n"
        "    time.sleep(30)\n"
        "    raise socket.gaierror(-3, 'Temporary failure in name resolution')\n"
        "socket.getaddrinfo = getaddrinfo\n"
    )
    began = time.monotonic()
    result = run("http://engine.example:8000", "--timeout", "0.5", env={"PYTHONPATH": str(tmp_path)})
    assert time.monotonic() - began < 10
    assert result.returncode == 2, result
    assert "unreachable: GET /health: no connection within 0.5 s" in result.stdout
