"""What a box keeps of starts and stops: the last few of each backend, whatever the file held before."""

from __future__ import annotations

from pathlib import Path

from floor.box import paths, starts

A = "flagship@spark-a"


def test_starts_and_stops_of_a_backend(tmp_path: Path) -> None:
    starts.started(A, launch="d1", seconds=61.04, warm=3.0, at=1000.4, root=tmp_path)
    starts.stopped(A, seconds=2.26, at=2000.0, root=tmp_path)
    assert starts.read(tmp_path) == {
        A: {
            "starts": [{"launch": "d1", "seconds": 61.0, "warm": 3.0, "at": 1000}],
            "stops": [{"seconds": 2.3, "at": 2000}],
        }
    }


def test_only_the_last_few_are_kept(tmp_path: Path) -> None:
    for number in range(starts.KEPT + 3):
        starts.stopped(A, seconds=number, at=0, root=tmp_path)
    for number in range(starts.BACKENDS):
        starts.started(f"m{number}@a", launch="", seconds=1, warm=1, at=0, root=tmp_path)
    found = starts.read(tmp_path)
    assert A not in found
    assert len(found) == starts.BACKENDS
    starts.stopped("m1@a", seconds=5, at=0, root=tmp_path)
    assert list(starts.read(tmp_path))[-1] == "m1@a"


def test_a_damaged_file_tells_nothing_and_is_written_anew(tmp_path: Path) -> None:
    place = paths.under(tmp_path, paths.STARTS)
    place.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"a": 1}', '{"a": {"starts": [1]}}'):
        place.write_text(text)
        assert starts.read(tmp_path) == {}
    starts.stopped(A, seconds=1, at=0, root=tmp_path)
    assert list(starts.read(tmp_path)) == [A]


def test_an_entry_that_lacks_a_time_tells_nothing(tmp_path: Path) -> None:
    place = paths.under(tmp_path, paths.STARTS)
    place.parent.mkdir(parents=True)
    place.write_text('{"a": {"starts": [{"seconds": 3}, {"seconds": "3", "warm": 1}], "stops": [{}, {"seconds": 2}]}}')
    assert starts.read(tmp_path) == {"a": {"starts": [], "stops": [{"seconds": 2}]}}


def test_whose_unit_it_is(tmp_path: Path) -> None:
    place = paths.under(tmp_path, paths.GROUPS / "flagship.json")
    place.parent.mkdir(parents=True)
    place.write_text('{"backend": "flagship@a+b"}')
    assert starts.backend("floor-group-flagship.service", tmp_path) == "flagship@a+b"
    assert starts.backend("floor-copy-flagship.service", tmp_path) == ""
    assert starts.backend("floor-pool.service", tmp_path) == ""
