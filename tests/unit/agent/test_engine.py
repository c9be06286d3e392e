"""`engine.idle`: an engine is idle when it was found so as often in a row as was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.agent.call import POLL, Call
from floor.agent.calls import engine
from floor.agent.params import Params
from floor.box import status_ask


@pytest.mark.parametrize(
    ("looks", "found", "after"),
    [(None, [True], 1), (1, [False, True], 2), (2, [True, False, True, True], 4), (2, [True] * 9, 2)],
)
def test_as_many_looks_in_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int | None, found: list[bool], after: int
) -> None:
    left, now = list(found), [0.0]
    monkeypatch.setattr(engine, "_idle", lambda _call: (seen := left.pop(0), {"idle": seen, "running": 0}))
    params = Params("engine.idle", {"looks": looks, "timeout": 20.0})
    call = Call(params, tmp_path, clock=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds))
    assert engine.idle(call) == {"idle": True, "running": 0}
    assert len(found) - len(left) == after
    assert now[0] == pytest.approx(POLL * (after - 1))


def test_one_that_was_quiet_for_one_look_too_few_is_not_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_idle", lambda _call: (True, {"idle": True, "running": 0}))
    call = Call(Params("engine.idle", {"looks": 2, "timeout": 0.0}), tmp_path)
    assert engine.idle(call) == {"idle": False, "running": 0}


@pytest.mark.parametrize(
    ("error", "connections", "idle", "reason"),
    [
        (ConnectionRefusedError(111, "Connection refused"), 2, True, "nothing answers there: Connection refused"),
        (OSError(113, "No route to host"), 0, True, "nothing answers there: No route to host"),
        (TimeoutError("timed out"), 2, False, "(it takes no connection); connections count"),
        (TimeoutError("timed out"), None, False, "(it takes no connection); connections count"),
        (TimeoutError("timed out"), 0, True, "(it takes no connection); connections count"),
        (status_ask.MuteError("RemoteDisconnected"), 1, False, "(RemoteDisconnected); connections count"),
    ],
)
def test_one_that_cannot_be_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: OSError,
    connections: int | None,
    idle: bool,
    reason: str,
) -> None:
    """Where nobody listens nothing is left to finish; one that lets nobody in has all it can hold."""

    def get(_url: str, _key: str | None) -> bytes:
        raise error

    monkeypatch.setattr(status_ask, "get", get)
    monkeypatch.setattr(engine, "_connections", lambda _url: connections)
    asked = {"backend": "m@a", "url": "http://192.0.2.11:8000", "model": "m", "timeout": 0.0}
    found = engine.idle(Call(Params("engine.idle", asked), tmp_path))
    assert (found["idle"], found["running"], found["connections"]) == (idle, None, connections)
    assert found["reason"].endswith(reason)
