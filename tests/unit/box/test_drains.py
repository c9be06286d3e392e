"""Drains name their holders; a backend returns when none is left."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.box import drains, paths
from floor.box.drains import Drain
from floor.errors import FloorError

A, B = "flagship@a", "flagship@b"


def test_there_are_none_without_a_file(tmp_path: Path) -> None:
    assert drains.read(tmp_path) == {}


def test_a_holder_holds_once_however_often_it_asks(tmp_path: Path) -> None:
    drains.add(A, "ops@laptop drain", None, at=1.0, root=tmp_path)
    held = drains.add(A, "ops@laptop drain", None, at=2.0, root=tmp_path)
    assert held == (Drain("ops@laptop drain", None, 2.0),)
    assert drains.read(tmp_path) == {A: held}


def test_two_holders_have_to_let_go_both(tmp_path: Path) -> None:
    drains.add(A, "x", None, at=1.0, root=tmp_path)
    drains.add(A, "deploy", 12, at=1.0, root=tmp_path)
    assert drains.remove(A, "x", None, root=tmp_path) == (Drain("deploy", 12, 1.0),)
    assert drains.remove(A, None, 12, root=tmp_path) == ()
    assert drains.read(tmp_path) == {}


def test_undraining_by_hand_leaves_what_an_operation_holds(tmp_path: Path) -> None:
    drains.add(A, "deploy", 12, at=1.0, root=tmp_path)
    drains.add(A, "x", None, at=1.0, root=tmp_path)
    drains.add(A, "y", None, at=1.0, root=tmp_path)
    assert drains.remove(A, None, None, root=tmp_path) == (Drain("deploy", 12, 1.0),)


def test_removing_what_nobody_holds_changes_nothing(tmp_path: Path) -> None:
    assert drains.remove(A, "x", None, root=tmp_path) == ()
    assert not paths.under(tmp_path, paths.DRAINS).exists()


def test_a_new_operation_sweeps_what_older_ones_held(tmp_path: Path) -> None:
    drains.add(A, "deploy", 11, at=1.0, root=tmp_path)
    drains.add(B, "x", None, at=1.0, root=tmp_path)
    drains.add(B, "deploy", 12, at=2.0, root=tmp_path)
    assert drains.read(tmp_path) == {B: (Drain("x", None, 1.0), Drain("deploy", 12, 2.0))}


def test_only_the_live_operations_drains_and_peoples_count() -> None:
    held = {A: (Drain("deploy", 12, 1.0), Drain("x", None, 1.0)), B: (Drain("deploy", 12, 1.0),)}
    assert drains.live(held, 12) == held
    assert drains.live(held, 13) == {A: (Drain("x", None, 1.0),)}
    assert drains.live(held, None) == {A: (Drain("x", None, 1.0),)}
    assert drains.held_by(held) == {A: ("deploy 12", "x"), B: ("deploy 12",)}


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    def add(number: int) -> None:
        drains.add(A, f"holder {number}", None, at=1.0, root=tmp_path)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drains.read(tmp_path)[A]) == 16


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"a": 1}', '{"a": [{}]}', '{"a": [{"holder": 1, "epoch": null, "at": 1}]}']
)
def test_a_file_that_holds_no_drains_is_said(text: str, tmp_path: Path) -> None:
    place = paths.under(tmp_path, paths.DRAINS)
    place.parent.mkdir(parents=True)
    place.write_text(text)
    with pytest.raises(
        FloorError, match=r"drains\.json: is not a list of drains .*; remove it, then `floor drain` again"
    ):
        drains.read(tmp_path)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    paths.under(tmp_path, paths.DRAINS).mkdir(parents=True)
    with pytest.raises(FloorError, match=r"drains\.json: cannot be read .*; repair or remove it"):
        drains.read(tmp_path)


@given(st.text())
def test_any_text_is_drains_or_an_error_in_words(text: str) -> None:
    try:
        drains.parse(text, "drains.json")
    except FloorError as error:
        said = str(error)
        assert said.startswith("drains.json: ")
