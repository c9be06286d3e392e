"""What the unit of the shared address does around keepalived: before it starts, before it stops, after it has ended."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floor.agent import address as words
from floor.agent.address_ask import SILENT, Peers, catches
from floor.box import address, handover, paths
from floor.box.command import Result
from floor.errors import FloorError

OWN = "02:00:00:00:00:0a"
UNIT = "floor-address.service"
READY = {"units": {UNIT: {"active": "active"}}, "address": {"catches": OWN}}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    settings = {
        "address": "192.0.2.10",
        "interface": "eth0",
        "own": "192.0.2.11",
        "status_key_file": "/etc/floor/secrets/status.key",
        "peers": [{"box": "b", "address": "192.0.2.12", "status_url": "http://192.0.2.12:8099/status"}],
        "within": 60,
    }
    place = tmp_path / "etc/floor/address.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(settings))
    return tmp_path


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (READY, True),
        ({**READY, "address": {"catches": None}}, False),
        ({**READY, "address": {"catches": "02:00:00:00:00:0b"}}, False),
        ({**READY, "address": None}, False),
        ({"units": {UNIT: {"active": "activating"}}, "address": {"catches": OWN}}, False),
        ({"units": {UNIT: {"active": "failed"}}, "address": {"catches": OWN}}, None),
        ({"units": {}}, None),
        ({"units": []}, None),
    ],
)
def test_who_is_ready(status: dict[str, Any], found: bool | None) -> None:
    assert catches(status, OWN) is found


@pytest.mark.parametrize(
    ("told", "waited", "ready"),
    [
        ({}, 0, False),
        ({}, SILENT, True),  # it may be gone
        ({"b": False}, SILENT, False),
        ({"b": True}, 0, True),
        ({"b": None}, 0, True),
    ],
)
def test_whom_it_waits_for(here: Path, told: dict[str, bool | None], waited: float, ready: bool) -> None:
    over = threading.Event()
    over.set()
    peers = Peers(address.load(here), OWN, here, over)
    peers._told.update(told)
    assert peers.ready(waited) is ready


class Box:
    """The box under the commands: what it holds, and what was done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch = monkeypatch
        self.did: list[str] = []
        self.marked: str | None = None
        self.holds, self.left, self.open = True, False, 0
        self.answers: dict[str, Any] = READY
        self.now = 0.0
        monkeypatch.setenv("MAINPID", str(os.getpid()))
        monkeypatch.setattr(handover, "hardware", lambda *_: OWN)
        monkeypatch.setattr(handover, "told", lambda *_: {"leaves": self.marked, "catches": None})
        monkeypatch.setattr(handover, "mark", self._mark)
        monkeypatch.setattr(handover, "keep", lambda *_: self.did.append("keep"))
        monkeypatch.setattr(handover, "end_keep", lambda *_: self.did.append("end"))
        monkeypatch.setattr(handover, "connections", self._connections)
        monkeypatch.setattr(address, "held", lambda *_: self.holds)
        monkeypatch.setattr(address, "let_go", lambda *_: self.left)
        monkeypatch.setattr(words, "Peers", self._peers)
        monkeypatch.setattr(words.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(words.time, "sleep", self._sleep)

    def _mark(self, place: Path, value: str | None, _root: Path) -> None:
        assert place == paths.ADDRESS_LEAVES
        self.marked = value

    def _peers(self, settings: address.Settings, own: str, root: Path, over: threading.Event) -> Peers:
        stopped = threading.Event()
        stopped.set()
        peers = Peers(settings, own, root, stopped)
        peers._told["b"] = catches(self.answers, own)
        over.wait = lambda _seconds=None: self._sleep(7.0) or False  # type: ignore[method-assign, assignment]
        return peers

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self.open = max(0, self.open - 1)

    def _connections(self, *_: object) -> int:
        return self.open


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Box:
    return Box(monkeypatch)


def test_it_is_kept_when_another_is_ready(here: Path, box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    assert words.main(["leave", "--root", str(here)]) == 0
    assert (box.did, box.marked) == (["keep"], OWN)
    assert capsys.readouterr().err == "floor-address: 192.0.2.10 goes to b, 0.0 s after it was told to\n"


def _dead(box: Box) -> None:
    box.patch.setenv("MAINPID", "")


def _holds_nothing(box: Box) -> None:
    box.holds = False


@pytest.mark.parametrize("why", [_dead, _holds_nothing])
def test_where_there_is_nothing_to_hand_over(here: Path, box: Box, why: Callable[[Box], None]) -> None:
    why(box)
    assert words.main(["leave", "--root", str(here)]) == 0
    assert (box.did, box.marked) == ([], None)


def test_nobody_is_ready(here: Path, box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    box.answers = {**READY, "address": {"catches": None}}
    assert words.main(["leave", "--root", str(here)]) == 0
    assert (box.did, box.marked) == ([], None)
    assert "nobody else is ready to go on with the requests that it has" in capsys.readouterr().err


def test_what_cannot_be_kept_is_waited_for_by_nobody(
    here: Path, box: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise FloorError("192.0.2.10 cannot be kept: no")

    monkeypatch.setattr(handover, "keep", refuse)
    assert words.main(["leave", "--root", str(here)]) == 1
    assert (box.marked, capsys.readouterr().err) == (None, "floor-address: 192.0.2.10 cannot be kept: no\n")


def test_it_waits_for_its_requests_and_then_for_nothing(here: Path, box: Box) -> None:
    box.marked, box.open = OWN, 30
    assert words.main(["gone", "--root", str(here)]) == 0
    assert (box.did, box.marked) == (["end"], None)
    assert 5.9 < box.now < 6.3


def test_it_waits_no_longer_than_a_request_may_take(here: Path, box: Box) -> None:
    box.marked, box.open = OWN, 10**6
    assert words.main(["gone", "--root", str(here)]) == 0
    assert box.did == ["end"]
    assert 60 <= box.now < 61


def test_after_a_crash_nobody_waits(here: Path, box: Box, capsys: pytest.CaptureFixture[str]) -> None:
    box.left = True
    assert words.main(["gone", "--root", str(here)]) == 0
    assert (box.did, box.now) == ([], 0)
    assert "192.0.2.10 was left on eth0, and is taken off" in capsys.readouterr().err


def test_a_start_ends_what_was_cut_short_and_looks_for_strangers(
    here: Path, box: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    box.marked = OWN
    monkeypatch.setattr(address, "strangers", lambda *_: [])
    assert words.main(["free", "--root", str(here)]) == 0
    assert (box.did, box.marked) == (["end"], None)
    monkeypatch.setattr(address, "strangers", lambda *_: ["02:00:00:00:00:09"])
    assert words.main(["free", "--root", str(here)]) == 1
    assert capsys.readouterr().err == (
        "floor-address: 192.0.2.10 is taken: 02:00:00:00:00:09 on eth0 answers for it and is no proxy of floor's; "
        "take it from there, or write another `address`\n"
    )


@pytest.mark.parametrize(("alive", "code", "ran"), [(True, 0, True), (True, 1, True), (False, 0, False)])
def test_before_nginx_goes_the_address_goes(
    here: Path,
    box: Box,
    monkeypatch: pytest.MonkeyPatch,
    alive: bool,
    code: int,
    ran: bool,
) -> None:
    """An nginx that died keeps nobody waiting."""
    did: list[list[str]] = []
    if not alive:
        _dead(box)
    monkeypatch.setattr(words.command, "run", lambda argv, **_more: did.append(argv) or Result(code, "", "no"))
    assert words.main(["proxy", "--root", str(here)]) == code
    assert did == ([["systemctl", "stop", UNIT]] if ran else [])


def test_without_settings_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert words.main(["free", "--root", str(tmp_path)]) == 1
    assert "`floor deploy` writes it" in capsys.readouterr().err
