"""The manifest of a folder: equal exactly where the files are, and never a path that leaves the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.box import manifest, weights
from floor.box.fetching import demand
from floor.box.manifest import Entry, Manifest, Origin
from floor.errors import FloorError

ORIGIN = Origin("org/flagship", "a" * 40)
HASH = "0" * 64


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x", "a/../../x", "a//b", "", "a/", ".", "a\nb", "a\\b", "x" * 2000, manifest.NAME, None, 7],
)
def test_a_path_that_could_lie_anywhere_else_is_refused(path: object) -> None:
    with pytest.raises(FloorError, match="which floor does not write"):
        manifest.entries([{"path": path, "size": 1}])


@pytest.mark.parametrize("row", [{}, {"path": "a"}, {"path": "a", "size": "many"}, {"path": "a", "size": -1}, 7, None])
def test_rows_that_are_no_files_are_refused(row: object) -> None:
    with pytest.raises(FloorError, match="no file of a manifest"):
        manifest.entries([row])


def test_a_file_cannot_be_there_twice() -> None:
    with pytest.raises(FloorError, match="no file of a manifest"):
        manifest.entries([{"path": "a", "size": 1}, {"path": "a", "size": 2}])


FILES = st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 3), st.sampled_from((HASH, "1" * 64))))


@given(FILES, FILES)
def test_one_hash_tells_whether_two_folders_hold_the_same(
    one: dict[str, tuple[int, str]], two: dict[str, tuple[int, str]]
) -> None:
    made = [
        Manifest(ORIGIN, tuple(Entry(path, size, sha) for path, (size, sha) in files.items()), {})
        for files in (one, two)
    ]
    assert (made[0].digest == made[1].digest) == (one == two)


def test_patterns_choose_files_in_folders_too() -> None:
    files = tuple(Entry(path, 1) for path in ("a.json", "sub/b.json", "c.bin"))
    assert [one.path for one in manifest.chosen(files, ("*.json",))] == ["a.json", "sub/b.json"]
    assert manifest.chosen(files, ()) == files


def folder(tmp_path: Path) -> Path:
    place = tmp_path / "m"
    weights.begin(place, [])
    (weights.within(weights.part_of(place), "sub/a")).write_bytes(b"abc")
    weights.finish(place, ORIGIN, [Entry("sub/a", 3, HASH)])
    return place


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    known = manifest.read(folder(tmp_path))
    assert known
    assert known.origin == ORIGIN
    assert known.files == (Entry("sub/a", 3, HASH),)
    assert manifest.changed(tmp_path / "m", known) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"repo": "a/b", "revision": "c", "files": [{"path": "../x"}]}'])
def test_a_manifest_that_is_none_counts_as_none(tmp_path: Path, text: str) -> None:
    (folder(tmp_path) / manifest.NAME).write_text(text)
    assert manifest.read(tmp_path / "m") is None
    assert weights.look(str(tmp_path / "m"))["origin"] is None


def test_a_file_that_changed_or_went_shows_without_reading_it(tmp_path: Path) -> None:
    known = manifest.read(folder(tmp_path))
    assert known
    place = tmp_path / "m" / "sub" / "a"
    os.utime(place, (1, 1))
    assert manifest.changed(tmp_path / "m", known) == ["sub/a"]
    place.unlink()
    assert manifest.changed(tmp_path / "m", known) == ["sub/a"]


def test_a_folder_that_is_not_there_is_looked_at_by_the_disk_it_would_be_on(tmp_path: Path) -> None:
    seen = weights.look(str(tmp_path / "no" / "such"))
    assert (seen["exists"], seen["origin"], seen["partial"], seen["bytes"]) == (False, None, 0, 0)
    assert seen["device"] == tmp_path.stat().st_dev
    assert seen["free"] > 0


@pytest.mark.parametrize("path", ["/", "/etc", "/etc/cron.d", "/usr/lib/x", "models", "/models/../etc", "/proc/1"])
def test_weights_never_come_into_the_system(path: str) -> None:
    with pytest.raises(FloorError, match="is no folder for weights; write another `source`"):
        demand(path)


@pytest.mark.parametrize(
    ("source", "include", "into"),
    [
        ("/models/flagship", [], "/models/flagship"),
        ("/models/small/a-Q4.gguf", [], "/models/small"),
        ("/models/small/a-Q4.gguf", ["*Q4*"], "/models/small"),
        ("/models/large/Q4_K_M/a-00001-of-00003.gguf", ["Q4_K_M/*"], "/models/large"),
        ("/models/large/a-00001-of-00003.gguf", ["Q4_K_M/*"], "/models/large"),
        ("/models/large/Q4_K_M/a.gguf", ["Q4_K_M/*", "*.json"], "/models/large/Q4_K_M"),
        ("/Q4/a.gguf", ["Q4/*"], "/Q4"),
    ],
)
def test_a_single_file_is_fetched_into_its_folder(source: str, include: list[str], into: str) -> None:
    assert weights.folder_of(source, include) == into
