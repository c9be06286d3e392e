"""A release is there whole or not at all, `current` flips in one step, and the last three are kept."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from floor.box import releases
from floor.box.command import Result
from floor.errors import FloorError, UsageError

ONE, TWO, THREE, FOUR = (f"0.1.0+{digit * 12}" for digit in "1234")


def tar(*names: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.size = 3 if kind == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(b"abc"))
    return target.getvalue()


GOOD = tar("pip-26.3-py3-none-any.whl", "factory_floor-0.1.0-py3-none-any.whl")


class Builder:
    """Stands in for venv and pip: makes the folder, notes every argv, and fails where it is told to."""

    def __init__(self, fail_at: str = "") -> None:
        self.fail_at, self.ran = fail_at, list[list[str]]()

    def __call__(self, argv: Sequence[str]) -> Result:
        self.ran.append(list(argv))
        if self.fail_at and self.fail_at in argv:
            return Result(1, "", "ERROR: x-1-cp39-cp39.whl is not a supported wheel on this platform.")
        if "venv" in argv:
            Path(argv[-1], "bin").mkdir(parents=True)
            Path(argv[-1], "bin", "python").symlink_to(sys.executable)
        return Result(0, "", "")


def install(root: Path, name: str, builder: Any = None, bundle: bytes = GOOD) -> dict[str, Any]:
    digest = hashlib.sha256(bundle).hexdigest()
    return releases.install(name, bundle, digest, root=root, python="/usr/bin/python3", execute=builder or Builder())


def test_a_release_is_built_verified_and_becomes_current(root: Path) -> None:
    builder = Builder()
    assert install(root, ONE, builder) == {"release": ONE, "changed": True}
    folder = root / "opt/floor" / ONE
    assert releases.current(root) == ONE
    assert (root / "opt/floor/current").readlink() == Path(ONE)
    inside = str(folder / "bin/python")
    verbs = [argv[:4] for argv in builder.ran]
    assert verbs[0] == ["/usr/bin/python3", "-I", "-m", "venv"]
    assert [argv[0] for argv in builder.ran[1:]] == [inside] * 4
    pip = builder.ran[1]
    assert pip[2].endswith("pip-26.3-py3-none-any.whl/pip")
    assert "--no-index" in pip
    assert [Path(word).name for word in pip if word.endswith(".whl")] == [
        "factory_floor-0.1.0-py3-none-any.whl",
        "pip-26.3-py3-none-any.whl",
    ]


def test_a_second_time_nothing_is_built(root: Path) -> None:
    install(root, ONE)
    builder = Builder()
    assert install(root, ONE, builder) == {"release": ONE, "changed": False}
    assert builder.ran == []


def test_going_back_flips_without_building(root: Path) -> None:
    install(root, ONE)
    install(root, TWO)
    builder = Builder()
    assert install(root, ONE, builder)["changed"] is True
    assert (releases.current(root), builder.ran) == (ONE, [])


@pytest.mark.parametrize("step", ["venv", "install", "check", "compileall", "-c"])
def test_a_step_that_fails_leaves_the_old_release_and_nothing_of_the_new(root: Path, step: str) -> None:
    install(root, ONE)
    with pytest.raises(FloorError, match=rf"release {TWO.replace('+', '.')}: cannot be installed: ERROR: x-1-cp39"):
        install(root, TWO, Builder(fail_at=step))
    assert releases.current(root) == ONE
    assert releases.installed(root) == [ONE]
    assert not (root / "opt/floor" / TWO).exists()


def test_half_an_installation_is_no_release_and_is_built_anew(root: Path) -> None:
    """Power was lost in the middle: the folder is there, its last file is not."""
    half = root / "opt/floor" / ONE
    (half / "lib").mkdir(parents=True)
    (half / "lib/old.py").write_text("")
    assert releases.installed(root) == []
    assert install(root, ONE)["changed"] is True
    assert not (half / "lib/old.py").exists()


def test_a_link_to_half_an_installation_is_no_current_release(root: Path) -> None:
    (root / "opt/floor" / ONE).mkdir(parents=True)
    (root / "opt/floor/current").symlink_to(ONE)
    assert releases.current(root) is None


def test_a_release_whose_python_was_upgraded_away_is_built_anew(root: Path) -> None:
    """Debian 12 → 13 removes python3.11, and with it the interpreter of every environment made with it."""
    install(root, ONE)
    inside = root / "opt/floor" / ONE / "bin/python"
    inside.unlink()
    inside.symlink_to("/usr/bin/python3.1")
    assert (releases.current(root), releases.installed(root)) == (None, [])
    assert install(root, ONE)["changed"] is True
    assert releases.current(root) == ONE


def test_the_last_three_used_are_kept(root: Path) -> None:
    for at, name in enumerate((ONE, TWO, THREE, FOUR)):
        install(root, name)
        os.utime(root / "opt/floor" / name / releases.READY, (at, at))
    install(root, FOUR)
    assert releases.installed(root) == [TWO, THREE, FOUR]
    assert not (root / "opt/floor" / ONE).exists()


def test_a_release_that_a_process_still_runs_from_is_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "_in_use", lambda folder: folder.name == ONE)
    for at, name in enumerate((ONE, TWO, THREE, FOUR)):
        install(root, name)
        os.utime(root / "opt/floor" / name / releases.READY, (at, at))
    install(root, FOUR)
    assert ONE in releases.installed(root)


def test_what_else_lies_there_is_left_alone(root: Path) -> None:
    (root / "opt/floor/notes").mkdir(parents=True)
    install(root, ONE)
    assert (root / "opt/floor/notes").is_dir()


def test_a_process_of_a_folder_is_seen() -> None:
    assert releases._in_use(Path(os.path.realpath(sys.executable)).parent)
    assert not releases._in_use(Path("/opt/floor/0.0.0+000000000000"))


@pytest.mark.parametrize(
    "name", ["", "current", "../x", "0.1.0", "0.1.0+xyz", "0.1.0+0123456789abc", "/etc+0123456789ab"]
)
def test_a_name_that_is_no_release_is_refused(root: Path, name: str) -> None:
    with pytest.raises(UsageError, match="must look like"):
        install(root, name)
    assert not (root / "opt").exists()


def test_a_bundle_that_was_damaged_on_the_way_is_refused(root: Path) -> None:
    with pytest.raises(FloorError, match=r"arrived damaged \(3 bytes, sha256 ba7816bf"):
        releases.install(ONE, b"abc", "0" * 64, root=root)


def test_a_bundle_without_pip_is_refused(root: Path) -> None:
    with pytest.raises(FloorError, match="carries no wheel of pip"):
        install(root, ONE, bundle=tar("a-1-py3-none-any.whl"))


@pytest.mark.parametrize("name", ["../evil.whl", "/etc/x.whl", "folder/x.whl", "notes.txt"])
def test_a_bundle_with_anything_but_wheels_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FloorError, match="which is no wheel"):
        releases.unpack(tar(name), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_a_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FloorError, match="which is no wheel"):
        releases.unpack(tar("x.whl", kind=tarfile.SYMTYPE), tmp_path)


def test_what_is_no_tar_is_named(tmp_path: Path) -> None:
    with pytest.raises(FloorError, match="release: is no tar of wheels"):
        releases.unpack(b"not a tar at all" * 100, tmp_path)


def test_a_checkout_is_no_release() -> None:
    assert releases.running() is None


def test_a_process_started_through_current_knows_its_release(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(root, ONE)
    monkeypatch.setattr(releases.sys, "prefix", str(root / "opt/floor/current"))
    assert releases.running() == ONE


def test_environments_are_made_from_the_systems_own_python() -> None:
    assert Path(releases.base_python()).is_file()
    assert ".venv" not in releases.base_python()
