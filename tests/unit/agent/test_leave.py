"""A copy that is about to stop: whom it waits for, for how long, and when it does not wait at all."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from floor.agent import leave
from floor.agent.leave_ask import Engine, Proxies, load
from floor.agent.leave_decide import LATE, SILENT, Proxy, gone, holding
from floor.box import leaving, paths
from floor.errors import FloorError

UNIT, BACKEND = "floor-copy-flagship.service", "flagship@a"
ENGINE = Engine(BACKEND, "http://192.0.2.11:8000", "vllm", "engine-key")


def status(reason: str = "leaving", age: float = 0.5, *, acknowledged: bool = True) -> dict[str, Any]:
    backend = {"member": False, "acknowledged": acknowledged, "reason": reason}
    return {"pool": {"age": age, "backends": {BACKEND: backend}}}


@pytest.mark.parametrize(
    ("told", "is_gone"),
    [
        (status(), True),
        (status("drained"), True),
        (status("unit deactivating"), True),
        (status(acknowledged=False), False),
        (status("settling"), False),
        (status("refused"), False),
        (status(age=11), None),
        ({"pool": {"age": 1, "backends": {}}}, True),
        ({"pool": None}, None),
        ({}, None),
    ],
    ids=[
        "acknowledged",
        "drained",
        "an older pool",
        "nginx still knows it",
        "about to come in",
        "out for a fault that may be over",
        "a pool that stands still",
        "a pool that does not know it",
        "no pool",
        "an older floor",
    ],
)
def test_what_a_proxy_box_tells(told: dict[str, Any], is_gone: bool | None) -> None:
    assert gone(told, BACKEND) is is_gone


@pytest.mark.parametrize(
    ("proxy", "seconds"),
    [(Proxy(True, 0), 0), (Proxy(False, 0.3), LATE), (Proxy(False, math.inf), SILENT), (Proxy(True, 9), 0)],
    ids=["let go", "tells", "silent", "let go and silent since"],
)
def test_how_long_a_proxy_box_is_waited_for(proxy: Proxy, seconds: float) -> None:
    assert [at for at in (0, SILENT, LATE) if holding({"a": proxy}, at)] == [
        at for at in (0, SILENT, LATE) if at < seconds
    ]


def engine(answer: bytes | OSError) -> float | None:
    def get(url: str, key: str | None) -> bytes:
        assert (url, key) == ("http://192.0.2.11:8000/metrics", "engine-key")
        if isinstance(answer, OSError):
            raise answer
        return answer

    return load(ENGINE, get)


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        (b"vllm:num_requests_running 3\nvllm:num_requests_waiting 2\n", 5),
        (b"vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n", 0),
        (b"python_gc_objects_collected_total 3\n", None),
        (ConnectionRefusedError(), 0),
        (TimeoutError(), None),
    ],
)
def test_what_an_engine_still_has(answer: bytes | OSError, count: float | None) -> None:
    assert engine(answer) == count


def test_a_dead_proxy_box_holds_up_no_other() -> None:
    def get(url: str, _key: str | None) -> bytes:
        if "dead" in url:
            raise TimeoutError
        return b'{"pool": {"age": 0.1, "backends": {}}}'

    proxies = Proxies({"a": "http://a/status", "b": "http://dead/status"}, "key", BACKEND, get)
    deadline = time.monotonic() + 10
    while not proxies.now()["a"].gone and time.monotonic() < deadline:
        os.sched_yield()
    found = proxies.now()
    proxies.close()
    assert (found["a"].gone, found["b"].gone, found["b"].heard) == (True, False, math.inf)


def run(root: Path, **environ: str) -> int:
    settings = root / "etc/floor/engines/flagship.json"
    return leave.main([UNIT, str(settings), "--within", "1", "--root", str(root)], environ)


@pytest.mark.parametrize("pid", ["", "999999999"], ids=["gone", "gone just now"])
def test_a_crash_is_not_waited_for_and_marks_nothing(tmp_path: Path, pid: str) -> None:
    assert run(tmp_path, MAINPID=pid, INVOCATION_ID="a1") == 0
    assert leaving.read(paths.LEAVING, tmp_path) == {}


def test_what_floor_stops_itself_was_drained_before(tmp_path: Path) -> None:
    mark = leaving.Mark("a1", 0.0, time.monotonic())
    leaving.put(paths.DRAINED, UNIT, mark, tmp_path)
    assert run(tmp_path, MAINPID=str(os.getpid()), INVOCATION_ID="a1") == 0
    assert leaving.read(paths.LEAVING, tmp_path) == {}


@pytest.mark.parametrize(("invocation", "age"), [("b2", 0), ("a1", leave.FRESH + 1)], ids=["another start", "long ago"])
def test_an_old_word_of_floors_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], invocation: str, age: float
) -> None:
    """A call that marked it and was killed before it stopped it."""
    leaving.put(paths.DRAINED, UNIT, leaving.Mark(invocation, 0.0, time.monotonic() - age), tmp_path)
    assert run(tmp_path, MAINPID=str(os.getpid()), INVOCATION_ID="a1") == FloorError.exit_code
    assert leaving.read(paths.LEAVING, tmp_path)[UNIT].invocation == "a1"
    assert f"floor-leave: {UNIT}: stops without having been drained: {tmp_path}" in capsys.readouterr().err


def test_what_is_no_mark_is_none(tmp_path: Path) -> None:
    for name, text in {"floor-copy-x.service": "{", "floor-copy-y.service": "[]", "z": '{"invocation": "a"}'}.items():
        place = paths.under(tmp_path, paths.LEAVING / name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    assert leaving.read(paths.LEAVING, tmp_path) == {}
