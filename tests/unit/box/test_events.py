"""Events: one line each, bounded, readable by people and after a crash."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from floor.box import events, paths
from floor.errors import FloorError


def test_an_event_is_one_json_line(tmp_path: Path) -> None:
    events.append("pool", "flagship@a is out:\nréfused", {"member": False}, at=1.23456, box="spark-a", root=tmp_path)
    (line,) = paths.under(tmp_path, paths.EVENTS).read_text().splitlines()
    assert json.loads(line) == {
        "at": 1.235,
        "box": "spark-a",
        "who": "pool",
        "text": "flagship@a is out:\nréfused",
        "data": {"member": False},
    }


def test_the_box_is_this_one_by_default(tmp_path: Path) -> None:
    events.append("pool", "x", at=1.0, root=tmp_path)
    assert events.read(1, tmp_path)[0]["box"] == os.uname().nodename


def test_the_newest_are_read_the_oldest_of_them_first(tmp_path: Path) -> None:
    for number in range(5):
        events.append("pool", str(number), at=1.0, root=tmp_path)
    assert [event["text"] for event in events.read(2, tmp_path)] == ["3", "4"]
    assert events.read(0, tmp_path) == []
    assert len(events.read(99, tmp_path)) == 5


def test_there_are_none_without_a_file(tmp_path: Path) -> None:
    assert events.read(5, tmp_path) == []


def test_the_file_stays_bounded_and_whole_lines_are_kept(tmp_path: Path) -> None:
    for number in range(200):
        events.append("pool", f"{number:04}", at=1.0, box="b", root=tmp_path, limit=2000)
        assert paths.under(tmp_path, paths.EVENTS).stat().st_size <= 2000
    texts = [event["text"] for event in events.read(999, tmp_path)]
    assert texts == [f"{number:04}" for number in range(200 - len(texts), 200)]
    assert len(texts) > 5


def test_a_line_that_was_cut_off_by_a_crash_is_left_out(tmp_path: Path) -> None:
    events.append("pool", "whole", at=1.0, root=tmp_path)
    with paths.under(tmp_path, paths.EVENTS).open("ab") as file:
        file.write(b'{"at": 1, "te\n3\n')
    events.append("pool", "after", at=1.0, root=tmp_path)
    assert [event["text"] for event in events.read(9, tmp_path)] == ["whole", "after"]


def test_what_cannot_be_written_or_read_is_said(tmp_path: Path) -> None:
    paths.under(tmp_path, paths.EVENTS).mkdir(parents=True)
    with pytest.raises(FloorError, match=r"events\.jsonl: cannot be written .*; an event was lost: it happened"):
        events.append("pool", "it happened", at=1.0, root=tmp_path)
    with pytest.raises(FloorError, match=r"events\.jsonl: cannot be read"):
        events.read(1, tmp_path)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "var").touch()
    with pytest.raises(FloorError, match=r"cannot be locked .*; `floor setup` makes its folder"):
        events.append("pool", "x", at=1.0, root=tmp_path)


def test_an_event_after_a_line_that_was_cut_off(tmp_path: Path) -> None:
    """A power cut, or a full disk, leaves part of a line: the next event is not lost with it."""
    place = paths.under(tmp_path, paths.EVENTS)
    events.append("pool", "first", at=1.0, root=tmp_path)
    with place.open("ab") as file:
        file.write(b'{"at": 2.0, "who": "po')
    events.append("pool", "third", at=3.0, root=tmp_path)
    for read in (events.read, events.newest):
        assert [event["text"] for event in read(5, tmp_path)] == ["first", "third"]
        assert [event["text"] for event in read(2, tmp_path)] == ["first", "third"]
        assert read(0, tmp_path) == []


@pytest.mark.parametrize("line", ["{}", '{"at": "x"}', '{"at": NaN}', '{"at": true}', '{"at": null}', "[" * 20_000])
def test_a_line_that_is_no_event(tmp_path: Path, line: str) -> None:
    """Without a time it has no place among those of all boxes."""
    events.append("pool", "first", at=1.0, root=tmp_path)
    with paths.under(tmp_path, paths.EVENTS).open("a") as file:
        file.write(line + "\n")
    assert [event["text"] for event in events.read(5, tmp_path)] == ["first"]
    assert [event["text"] for event in events.newest(5, tmp_path)] == ["first"]
