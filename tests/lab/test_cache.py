"""The cache: built once for what it is made from, never half, old entries removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab.cache import KEPT, cached
from tests.lab.machine import LabError
from tests.lab.rootfs import mirror


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    monkeypatch.setenv("FLOOR_LAB_CACHE", str(tmp_path))
    return tmp_path


def build(folder: Path) -> None:
    """Build an entry."""
    (folder / "file").write_text("whole")


def never(folder: Path) -> None:
    """Build nothing: it must not be called."""
    raise AssertionError(folder)


def test_an_entry_is_built_once_and_again_when_what_it_is_made_from_changes(cache: Path) -> None:
    first = cached("thing", "a", build)
    assert (first / "file").read_text() == "whole"
    assert cached("thing", "a", never) == first
    assert cached("thing", "b", build) != first
    assert first.parent == cache


def test_a_build_that_fails_leaves_no_entry() -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cached("thing", "a", fail)
    assert (cached("thing", "a", build) / "file").read_text() == "whole"


def test_entries_not_used_for_long_are_removed(cache: Path) -> None:
    old, other = cached("thing", "a", build), cached("other", "a", build)
    for folder in (old, other):
        os.utime(folder, times=(0, folder.stat().st_mtime - KEPT - 60))
    new = cached("thing", "b", build)
    assert new.is_dir()
    assert not old.exists()
    assert other.is_dir()


def test_a_release_that_apt_does_not_know_is_named() -> None:
    with pytest.raises(LabError, match="names no source for nosuchrelease: check /etc/apt, then run apt-get update"):
        mirror("nosuchrelease")
