"""`python -I -m floor.agent.warm` against a simulated engine: as a unit's ExecStartPost runs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from floor.sim.process import SimulatedEngine, free_port


def settings(folder: Path, url: str, **other: Any) -> Path:
    (folder / "key").write_text("secret\n")
    document = {
        "backend": "flagship@a",
        "url": url,
        "model": "flagship",
        "dialect": "vllm",
        "key_file": str(folder / "key"),
        "start_time": 60,
        "context": None,
        "stall": 300,
        "min_speed": None,
    }
    path = folder / "flagship.json"
    path.write_text(json.dumps(document | other))
    return path


def warm(path: Path, main: int | None = None) -> subprocess.Popen[str]:
    environ = os.environ | ({} if main is None else {"MAINPID": str(main)})
    argv = [sys.executable, "-I", "-m", "floor.agent.warm", str(path)]
    return subprocess.Popen(argv, env=environ, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    _, said = process.communicate(timeout=30)
    return process.returncode, said.splitlines()


def test_it_waits_for_a_loading_engine_warms_it_and_ends(tmp_path: Path) -> None:
    port = free_port()
    process = warm(settings(tmp_path, f"http://127.0.0.1:{port}"))
    assert process.stderr is not None
    first = process.stderr.readline()  # it has found nobody there yet
    with SimulatedEngine("flagship", port=port, context=8192, key="secret", speed_factor=20) as engine:
        code, said = ended(process)
        sent = [(post["path"], post["status"]) for post in engine.state()["posts"]]
    assert code == 0
    assert re.match(r"flagship@a: waiting for engine: refused, \d s; ", first)
    assert said[-1].startswith("flagship@a: warm after ")
    assert [line for line in said if "warm-up: " in line] == [
        line
        for line in said
        if line.split("warm-up: ")[-1].startswith(
            ("a short prompt took", "a prompt of 4096 tokens took", "warning: a tool call failed, 400: ")
        )
    ]
    assert [path for path, _ in sent] == ["/v1/chat/completions"] * 2 + ["/v1/completions", "/v1/chat/completions"]
    assert [status for _, status in sent] == [200, 200, 200, 400], "no tool parser: a warning, no failure"


def test_an_engine_that_dies_ends_the_waiting_at_once(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as main:
        process = warm(settings(tmp_path, f"http://127.0.0.1:{free_port()}"), main.pid)
        assert process.stderr is not None
        first = process.stderr.readline()
        main.kill()
        began = time.monotonic()
        code, said = ended(process)
    assert "waiting for engine: refused" in first
    assert time.monotonic() - began < 3
    assert code == 1
    assert said == [f"floor-warm: the engine (process {main.pid}) ended while it was waited for; its log says why"]


def test_a_start_that_takes_too_long_ends_in_words_before_systemd_ends_it(tmp_path: Path) -> None:
    process = warm(settings(tmp_path, f"http://127.0.0.1:{free_port()}", start_time=1))
    code, said = ended(process)
    assert code == 1
    assert said[-1] == "floor-warm: flagship@a: not warm after 1 s; its log says why, or start_time is too short"


def test_settings_that_are_wrong_are_one_line(tmp_path: Path) -> None:
    code, said = ended(warm(settings(tmp_path, "http://127.0.0.1:1", dialect="tgi")))
    assert (code, len(said)) == (1, 1)
    assert said[0].startswith("floor-warm: unknown dialect 'tgi'; known: ")
