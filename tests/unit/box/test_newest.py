"""The newest events, from the end of the file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.box import events, paths


def test_the_newest_of_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert events.newest(5, tmp_path) == []
    for at in range(50):
        events.append("pool", f"number {at}", at=float(at), root=tmp_path)
    assert events.newest(5, tmp_path) == events.read(5, tmp_path)
    monkeypatch.setattr(events, "TAIL", 300)
    found = events.newest(40, tmp_path)
    assert 0 < len(found) < 5
    assert found == events.read(len(found), tmp_path)  # the line that is cut is left out


def test_a_line_that_is_half_written_is_left_out(tmp_path: Path) -> None:
    events.append("pool", "whole", at=1.0, root=tmp_path)
    with paths.under(tmp_path, paths.EVENTS).open("a") as file:
        file.write('{"at": 2, "who"')
    assert [event["text"] for event in events.newest(5, tmp_path)] == ["whole"]
