"""The call behind `floor status --watch`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from floor.agent.call import Call
from floor.agent.calls.live import follow
from floor.agent.params import Params
from floor.box import paths
from floor.errors import FloorError, UsageError
from floor.metrics import follow as program

BOXES = ["a=http://192.0.2.1:8099/status", "b.lan=http://[fd00::2]:8099/status"]


def call(root: Path, boxes: list[str]) -> Call:
    return Call(Params("live.follow", {"name": "a", "boxes": boxes}), root=root, stdin=io.BytesIO())


def pools(root: Path, text: str = '{"pools": []}') -> None:
    place = paths.under(root, paths.POOL_SETTINGS)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_it_runs_until_nobody_reads(tmp_path: Path) -> None:
    pools(tmp_path)
    stream = follow(call(tmp_path, BOXES))
    assert stream.follow
    begin = [sys.executable, "-I", "-m", "floor.metrics.follow"]
    assert list(stream.argv) == [*begin, "--root", str(tmp_path), "--name", "a", "--", *BOXES]


def test_only_a_proxy_box_can_tell(tmp_path: Path) -> None:
    with pytest.raises(
        FloorError, match=r"no pool is set up here; `floor deploy` does that on the boxes of proxy\.boxes"
    ):
        follow(call(tmp_path, BOXES))


@pytest.mark.parametrize(
    "word",
    ["a", "a=file:///etc/shadow", "--root=http://x/status", "a=http://x/status?y", "a=http://x", "=http://x/status"],
)
def test_what_is_no_status_port(tmp_path: Path, word: str) -> None:
    pools(tmp_path)
    with pytest.raises(UsageError, match=r"must be NAME=http://ADDRESS:PORT/status"):
        follow(call(tmp_path, [word]))


def test_settings_that_are_broken_are_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pools(tmp_path, "{")
    assert program.main(["--root", str(tmp_path), "--name", "a", *BOXES]) == 1
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert "pool.json: not JSON" in told["error"]


def test_who_no_longer_reads_ends_it_quietly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pools(tmp_path)

    async def gone(*_: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(program, "follow", gone)
    monkeypatch.setattr(program.sys, "stderr", io.StringIO())
    assert program.main(["--root", str(tmp_path), "--name", "a"]) == 0
