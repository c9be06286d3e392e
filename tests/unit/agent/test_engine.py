"""`engine.idle`: an engine is idle when it was found so as often in a row as was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.agent.call import POLL, Call
from floor.agent.calls import engine
from floor.agent.params import Params


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
