"""The status port over real sockets: who is answered what, and that nothing that comes in can hold it up."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.agent.status import load
from floor.agent.status_http import HEAD_LIMIT, MOST
from floor.box import drains
from floor.errors import FloorError
from tests.integration.pool.stage import KEY, UNIT, Box, until


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    made = Box(tmp_path_factory.mktemp("status"), "a")
    made.start()
    until(lambda: answers(made))
    yield made
    made.stop()


def answers(box: Box) -> bool:
    with socket.socket() as way:
        return way.connect_ex(("127.0.0.1", box.port)) == 0


def ask(box: Box, key: str | None = KEY, path: str = "/status", method: str = "GET") -> httpx.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.request(method, f"http://127.0.0.1:{box.port}{path}", headers=headers, timeout=10)


def status(box: Box) -> dict[str, Any]:
    answer = ask(box)
    assert answer.status_code == 200
    return dict(answer.json())


def test_units_drains_and_the_operation_are_told(box: Box) -> None:
    box.unit("active", "run-7")
    drains.add("flagship@a", "ops@laptop drain", None, at=1.5, root=box.root)
    until(lambda: status(box)["units"][UNIT]["invocation"] == "run-7")
    found = status(box)
    assert (found["units"][UNIT]["active"], found["units"][UNIT]["sub"]) == ("active", "running")
    assert found["drains"] == {"flagship@a": [{"holder": "ops@laptop drain", "epoch": None, "at": 1.5}]}
    assert found["operation"] is None
    assert found["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs(found["at"] - time.time()) < 5


def test_files_that_are_broken_do_not_hide_the_units(box: Box) -> None:
    (box.root / "var/lib/floor/drains.json").write_text("{")
    until(lambda: status(box)["drains"] is None)
    found = status(box)
    assert UNIT in found["units"]
    assert "drains.json: is not a list of drains" in found["problems"][0]
    (box.root / "var/lib/floor/drains.json").unlink()


def test_a_systemd_that_does_not_answer_is_an_error_in_words(box: Box) -> None:
    units = box.root.parent / "a-units.json"
    text = units.read_text()
    units.write_text("{")
    until(lambda: ask(box).status_code == 503)
    assert "systemctl show: " in ask(box).json()["error"]
    units.write_text(text)
    until(lambda: ask(box).status_code == 200)


@pytest.mark.parametrize("key", [None, "x", "wrong", KEY + "x", KEY[:-1]])
def test_without_the_key_nothing_is_told(box: Box, key: str | None) -> None:
    for path in ("/status", "/nothing"):
        answer = ask(box, key, path)
        assert (answer.status_code, list(answer.json())) == (401, ["error"])


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("POST", "/status", 405), ("DELETE", "/status", 405), ("GET", "/../etc/passwd", 404), ("GET", "/", 404)],
)
def test_there_is_one_question(box: Box, method: str, path: str, code: int) -> None:
    assert ask(box, path=path, method=method).status_code == code


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /status HTTP/1.1\r\n" + b"x: y\r\n" * HEAD_LIMIT,
    ],
    ids=["nothing", "no line", "TLS", "no path", "too long"],
)
def test_garbage_is_cut_short_and_others_are_answered(box: Box, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", box.port), timeout=10) as way:
        way.sendall(sent)
        if not sent:
            way.shutdown(socket.SHUT_WR)
        answer = _rest(way)
    assert not answer or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 401 "))
    assert ask(box).status_code == 200


def test_many_that_say_nothing_are_bounded_and_gone_soon(box: Box) -> None:
    idle = [socket.create_connection(("127.0.0.1", box.port), timeout=10) for _ in range(MOST + 10)]
    assert idle[-1].recv(1) == b"", "beyond the most, nobody is heard"
    until(lambda: _answered(box), 10)
    for way in idle:
        way.close()


def test_a_start_before_the_address_is_there_waits_for_it(tmp_path: Path) -> None:
    box = Box(tmp_path, "a")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", box.port))
        holder.listen()
        with (tmp_path / "log").open("wb") as log:
            box.start(log)
        until(lambda: "cannot listen yet" in (tmp_path / "log").read_text())
        time.sleep(0.2)
    until(lambda: _answered(box))
    box.stop()
    assert (tmp_path / "log").read_text().splitlines() == [
        f"floor-agent: 127.0.0.1:{box.port}: cannot listen yet (Address already in use); trying again",
        f"floor-agent: 127.0.0.1:{box.port}: listening",
    ]


def test_settings_without_a_key_are_refused(tmp_path: Path) -> None:
    box = Box(tmp_path, "a")
    key = box.root / "etc/floor/secrets/status.key"
    key.write_text("\n")
    with pytest.raises(FloorError, match=r"status\.key: a key is one line of ASCII characters; remove the file"):
        load(box.root)
    key.unlink()
    with pytest.raises(FloorError, match=r"status\.key: the status key cannot be read .*; `floor deploy` makes it"):
        load(box.root)


def test_settings_that_are_wrong_are_one_line_and_exit_code_1(tmp_path: Path) -> None:
    box = Box(tmp_path, "a")
    (box.root / "etc/floor/agent.json").write_text(json.dumps({"listen": "127.0.0.1"}))
    ended = subprocess.run(box.argv, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("floor-agent: ")
    assert ended.stderr.count("\n") == 1
    assert "agent.json: key_file: is missing, expected text" in ended.stderr


def _answered(box: Box) -> bool:
    try:
        return ask(box).status_code == 200
    except httpx.HTTPError:
        return False


def _rest(way: socket.socket) -> bytes:
    found = b""
    try:
        while chunk := way.recv(4096):
            found += chunk
    except ConnectionResetError:
        return found
    return found
