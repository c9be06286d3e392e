"""A file is written whole or not at all, with the right owner and mode before it is seen."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from floor.box import files, paths
from floor.errors import FloorError, RefusedError

MODE = "/etc/floor/mode"


def wish(path: str, text: str, me: str, mode: int = 0o644) -> dict[str, Any]:
    return {"path": path, "text": text, "mode": mode, "owner": me}


def test_a_written_file_has_its_text_mode_and_owner_and_leaves_nothing_beside_it(root: Path, me: str) -> None:
    files.write(Path(MODE), "replicas\n", mode=0o640, owner=me, root=root)
    place = root / "etc/floor/mode"
    assert place.read_text() == "replicas\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert [path.name for path in place.parent.iterdir()] == ["mode"]


def test_mode_and_owner_are_set_before_the_name_is(root: Path, me: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may read a key in the moment between the rename and a chmod."""
    seen: list[tuple[int, int]] = []
    real = os.rename

    def look(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        found = os.stat(source, dir_fd=src_dir_fd)
        seen.append((stat.S_IMODE(found.st_mode), found.st_size))
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(files.os, "rename", look)
    files.write(Path(MODE), "secret", mode=0o600, owner=me, root=root)
    assert seen == [(0o600, 6)]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (
            errno.EBUSY,
            "is a mount point of its own (bind mount), so it cannot be replaced in one step; unmount it first",
        ),
        (errno.ENOSPC, "the disk is full; free some space"),
        (errno.EDQUOT, "the disk quota is used up; free some space"),
        (errno.EROFS, "the file system is mounted read-only; look into the kernel log for why"),
        (errno.EPERM, "not permitted; is it marked immutable (lsattr)?"),
        (errno.EACCES, "not permitted; the agent runs as root"),
        (errno.EISDIR, "is a folder where a file must be; move it away"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_what_stands_in_the_way_is_named_and_the_old_file_stays(
    root: Path, me: str, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    files.write(Path(MODE), "old", owner=me, root=root)

    def fail(*_words: object, **_more: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "rename", fail)
    with pytest.raises(FloorError) as caught:
        files.write(Path(MODE), "new", owner=me, root=root)
    assert str(caught.value) == f"{MODE}: {words}"
    assert (root / "etc/floor/mode").read_text() == "old"
    assert [path.name for path in (root / "etc/floor").iterdir()] == ["mode"]


def test_a_real_folder_in_the_way_is_named(root: Path, me: str) -> None:
    (root / "etc/floor/mode").mkdir(parents=True)
    with pytest.raises(FloorError, match=r"/etc/floor/mode: is a folder where a file must be"):
        files.write(Path(MODE), "new", owner=me, root=root)


def test_an_owner_that_the_box_does_not_know_is_named(root: Path) -> None:
    with pytest.raises(FloorError, match=r"must belong to nosuch:nosuch, but this box has no such user or group"):
        files.write(Path(MODE), "x", owner="nosuch:nosuch", root=root)
    assert not (root / "etc/floor/mode").exists()


def test_a_reader_never_sees_half_a_file(root: Path, me: str) -> None:
    texts = ["a" * 200_000, "b" * 200_000]
    files.write(Path(MODE), texts[0], owner=me, root=root)
    wrong: list[int] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            text = (root / "etc/floor/mode").read_text()
            if text not in texts:
                wrong.append(len(text))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(40):
        files.write(Path(MODE), texts[turn % 2], owner=me, root=root)
    stop.set()
    reader.join()
    assert wrong == []


def test_put_changes_only_what_differs(root: Path, me: str) -> None:
    first = [wish(MODE, "replicas\n", me), wish("/etc/floor/pool.json", "{}", me)]
    assert files.put(first, root) == [MODE, "/etc/floor/pool.json"]
    before = (root / "etc/floor/mode").stat()
    assert files.put([wish(MODE, "replicas\n", me), wish("/etc/floor/pool.json", "[]", me)], root) == [
        "/etc/floor/pool.json"
    ]
    after = (root / "etc/floor/mode").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_put_mends_a_mode_that_somebody_changed(root: Path, me: str) -> None:
    files.put([wish(MODE, "replicas\n", me)], root)
    (root / "etc/floor/mode").chmod(0o666)
    assert files.put([wish(MODE, "replicas\n", me)], root) == [MODE]
    assert stat.S_IMODE((root / "etc/floor/mode").stat().st_mode) == 0o644


def test_put_writes_nothing_when_one_path_is_not_floors(root: Path, me: str) -> None:
    with pytest.raises(RefusedError):
        files.put([wish(MODE, "replicas\n", me), wish("/etc/passwd", "root::0:0::/:/bin/sh", me)], root)
    assert not (root / "etc/floor").exists()


def test_look_tells_digest_mode_owner_and_time(root: Path, me: str) -> None:
    files.put([wish(MODE, "replicas\n", me, 0o600)], root)
    seen = files.look(MODE, root)
    assert seen == {
        "sha256": hashlib.sha256(b"replicas\n").hexdigest(),
        "mode": 0o600,
        "owner": me,
        "mtime": (root / "etc/floor/mode").stat().st_mtime,
    }
    assert files.look("/etc/floor/none", root) is None
    assert files.look("/etc/floor/mode/below", root) is None


@pytest.mark.parametrize("kind", ["link", "folder", "special"])
def test_what_is_no_file_equals_no_file_that_is_wanted(root: Path, kind: str) -> None:
    place = root / "etc/floor/mode"
    place.parent.mkdir(parents=True)
    if kind == "link":
        place.symlink_to("/dev/null")
    elif kind == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    seen = files.look(MODE, root)
    assert seen is not None
    assert (seen["kind"], seen["sha256"]) == (kind, "")


def test_an_owner_without_a_name_is_told_by_number(root: Path) -> None:
    place = root / "etc/floor/mode"
    place.parent.mkdir(parents=True)
    place.write_text("")
    os.chown(place, 54321, 54322)
    assert (files.look(MODE, root) or {})["owner"] == "54321:54322"


def test_remove_takes_files_and_the_folders_they_leave_empty(root: Path, me: str) -> None:
    engine = "/etc/floor/engines/flagship.json"
    files.put([wish(engine, "{}", me), wish(MODE, "replicas\n", me)], root)
    assert files.remove([engine, "/etc/floor/none.json"], lambda: 0.0, root) == [engine]
    assert not (root / "etc/floor/engines").exists()
    assert (root / "etc/floor/mode").exists()


def test_a_folder_with_somebody_elses_file_stays(root: Path, me: str) -> None:
    files.put([wish("/etc/floor/engines/a.json", "{}", me)], root)
    (root / "etc/floor/engines/note").write_text("mine")
    files.remove(["/etc/floor/engines/a.json"], lambda: 0.0, root)
    assert (root / "etc/floor/engines/note").read_text() == "mine"


def test_a_drop_in_is_kept_when_it_is_removed(root: Path, me: str) -> None:
    """A person wrote it by hand: they must be able to have it back."""
    path = "/etc/systemd/system/floor-copy-m.service.d/override.conf"
    files.put([wish(path, "[Service]\nNice=5\n", me)], root)
    assert files.remove([path], lambda: 1234.0, root) == [path]
    kept = root / "var/lib/floor/removed/1234-floor-copy-m.service.d-override.conf"
    assert kept.read_text() == "[Service]\nNice=5\n"
    assert not (root / "etc/systemd/system/floor-copy-m.service.d").exists()
    assert (root / "etc/systemd/system").is_dir()


def test_a_drop_in_that_is_a_link_is_removed_without_its_content(root: Path) -> None:
    folder = root / "etc/systemd/system/floor-pool.service.d"
    folder.mkdir(parents=True)
    (folder / "x.conf").symlink_to("/dev/null")
    path = "/etc/systemd/system/floor-pool.service.d/x.conf"
    assert files.remove([path], lambda: 0.0, root) == [path]
    assert not (root / "var/lib/floor/removed").exists()


def test_a_folder_is_not_removed_as_a_file(root: Path) -> None:
    (root / "etc/floor/engines").mkdir(parents=True)
    with pytest.raises(FloorError, match=r"/etc/floor/engines: is a folder where a file must be"):
        files.remove(["/etc/floor/engines"], lambda: 0.0, root)


def test_listed_names_all_that_is_floors_and_nothing_else(root: Path, me: str) -> None:
    wanted = [
        "/etc/floor/mode",
        "/etc/floor/nginx/nginx.conf",
        "/etc/needrestart/conf.d/floor.conf",
        "/etc/systemd/system/floor-copy-m.service",
        "/etc/systemd/system/floor-copy-m.service.d/x.conf",
        "/etc/systemd/system/floor.target",
    ]
    files.put([wish(path, "", me) for path in wanted], root)
    units = root / "etc/systemd/system"
    (units / "floor-masked.service").symlink_to("/dev/null")
    (units / "floor.target.wants").mkdir()
    (units / "floor.target.wants/floor-copy-m.service").symlink_to("/x")
    (units / "other.service").write_text("")
    (root / "etc/floor/secrets").mkdir()
    (root / "etc/floor/secrets/engine.key").write_text("k")
    assert files.listed(root) == sorted([*wanted, "/etc/systemd/system/floor-masked.service"])


def test_an_empty_box_has_no_files(root: Path) -> None:
    assert files.listed(root) == []


def test_the_default_owner_is_root(root: Path) -> None:
    """Held against the real numbers: the tests of a box run as root, as the agent does."""
    files.write(paths.MODE, "x", root=root)
    seen = (root / "etc/floor/mode").stat()
    assert (seen.st_uid, seen.st_gid) == (0, 0)
