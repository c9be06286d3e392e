"""floor.yaml is replaced whole, where it lies, and stays whose it was."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

import pytest

from floor.errors import FloorError
from floor.operations import own_file


def standing(path: Path) -> tuple[int, int, int]:
    seen = path.stat()
    return stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid


def names(folder: Path) -> list[str]:
    return [place.name for place in folder.iterdir()]


def test_a_new_file_has_what_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        own_file.write(tmp_path / "floor.yaml", "boxes: {}\n")
    finally:
        os.umask(before)
    assert standing(tmp_path / "floor.yaml")[0] == 0o640
    assert names(tmp_path) == ["floor.yaml"]


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_mode_and_owner_stay_and_line_ends_too(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "floor.yaml"
    place.write_text("old")
    place.chmod(mode)
    if os.geteuid() == 0:
        os.chown(place, 12345, 54321)
    before, inode = standing(place), place.stat().st_ino
    own_file.write(place, "new: 1\r\nä: 2\r\n")
    assert place.read_bytes() == "new: 1\r\nä: 2\r\n".encode()
    assert standing(place) == before
    assert place.stat().st_ino != inode  # another file under the same name: nobody reads a half


def test_a_link_stays_one(tmp_path: Path) -> None:
    """As where floor.yaml leads into a checkout."""
    real, link = tmp_path / "checkout" / "floor.yaml", tmp_path / "floor.yaml"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to("checkout/floor.yaml")
    own_file.write(link, "new")
    assert (link.is_symlink(), real.is_symlink(), real.read_text()) == (True, False, "new")
    assert names(real.parent) == ["floor.yaml"]


def test_a_link_to_what_is_not_there_yet(tmp_path: Path) -> None:
    link = tmp_path / "floor.yaml"
    link.symlink_to("other.yaml")
    own_file.write(link, "new")
    assert (link.is_symlink(), (tmp_path / "other.yaml").read_text()) == (True, "new")


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        own_file.write(pipe, "boxes: {}\n")
        assert os.read(reader, 100) == b"boxes: {}\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_where_it_cannot_be_written_it_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "floor.yaml"
    place.write_text("old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FloorError, match=r"floor.yaml: cannot be written: No space left on device; choose another pl"):
        own_file.write(place, "new")
    assert (place.read_text(), names(tmp_path)) == ("old", ["floor.yaml"])


def test_what_is_somebody_elses_does_not_become_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "floor.yaml"
    place.write_text("old")
    mine = os.fstat

    def another(handle: int) -> os.stat_result:
        return os.stat_result([*mine(handle)[:4], 12345, *mine(handle)[5:10]])

    def denied(*_given: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fstat", another)
    monkeypatch.setattr(os, "fchown", denied)
    user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(os.getegid()).gr_name
    words = (
        f"floor.yaml: belongs to {user}:{group}, and would become yours, 12345:{group}, when it is replaced; do this"
    )
    with pytest.raises(FloorError, match=f"{words} as its owner, or give it to yourself first"):
        own_file.write(place, "new")
    assert (place.read_text(), names(tmp_path)) == ("old", ["floor.yaml"])


def test_a_mount_of_its_own_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "floor.yaml"
    place.write_text("old")

    def busy(*_given: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "rename", busy)
    monkeypatch.setattr(os, "replace", busy)
    with pytest.raises(FloorError, match=r"floor\.yaml: is a mount of its own, .*; mount the folder that it lies in"):
        own_file.write(place, "new")
    assert (place.read_text(), names(tmp_path)) == ("old", ["floor.yaml"])


def test_what_is_written_and_not_yet_sure_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that knows no fsync of a folder."""
    fsync = os.fsync

    def files_alone(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", files_alone)
    own_file.write(tmp_path / "floor.yaml", "new")
    assert ((tmp_path / "floor.yaml").read_text(), names(tmp_path)) == ("new", ["floor.yaml"])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FloorError, match=r"none/floor.yaml: cannot be written: No such file or directory; choose"):
        own_file.write(tmp_path / "none" / "floor.yaml", "new")


def test_a_link_that_leads_to_itself(tmp_path: Path) -> None:
    link = tmp_path / "floor.yaml"
    link.symlink_to("floor.yaml")
    with pytest.raises(FloorError, match="cannot be written: Too many levels of symbolic links"):
        own_file.write(link, "new")
    assert link.is_symlink()
