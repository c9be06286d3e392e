"""A release as one file: complete, from the cache where it can be, and what lacks is named."""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from floor.apply import wheels
from floor.apply.closure import Platform
from floor.errors import FloorError

SPARK = {"machine": "aarch64", "python": "3.12.3", "libc": "2.39"}
WANTED = ["a-b==1.5", "pip==26.3", "c-clib>=0.2"]
FILES = {
    "a-b==1.5": "A_b-1.5-py3-none-any.whl",
    "pip==26.3": "pip-26.3-py3-none-any.whl",
    "c-clib>=0.2": "c.clib-0.3-cp312-cp312-manylinux_2_17_aarch64.whl",
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three packages instead of all that floor needs."""
    monkeypatch.setattr(wheels, "closure", lambda _platform: WANTED)
    wheels.release_id.cache_clear()
    yield
    wheels.release_id.cache_clear()


class Pip:
    """Stands in for `pip download`: puts what it has, and fails when something is lacking."""

    def __init__(self, *lacking: str, said: str = "ERROR: No matching distribution found for x") -> None:
        self.lacking, self.said, self.ran = lacking, said, list[list[str]]()

    def __call__(self, argv: Sequence[str]) -> tuple[int, str]:
        self.ran.append(list(argv))
        folder = Path(argv[argv.index("--dest") + 1])
        for text, name in FILES.items():
            if text in argv and text not in self.lacking:
                (folder / name).write_bytes(text.encode())
        return (1, self.said) if self.lacking else (0, "")


def names(bundle: wheels.Bundle) -> list[str]:
    with tarfile.open(bundle.path) as tar:
        return tar.getnames()


def test_a_bundle_holds_floor_and_all_that_it_needs(tmp_path: Path) -> None:
    bundle = wheels.bundle(SPARK, tmp_path, Pip())
    assert names(bundle) == sorted([*FILES.values(), "factory_floor-0.1.0-py3-none-any.whl"])
    assert bundle.release == wheels.release_id()
    data = bundle.path.read_bytes()
    assert bundle.params == {"release": bundle.release, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert bundle.payload == data


def test_a_second_time_nothing_is_fetched_or_built(tmp_path: Path) -> None:
    first = wheels.bundle(SPARK, tmp_path, Pip())
    pip = Pip()
    assert wheels.bundle(SPARK, tmp_path, pip) == first
    assert pip.ran == []


def test_only_what_lacks_is_fetched_and_each_platform_has_its_own(tmp_path: Path) -> None:
    bundle = wheels.bundle(SPARK, tmp_path, Pip())
    bundle.path.unlink()
    next(tmp_path.glob("*/A_b*")).unlink()
    pip = Pip()
    wheels.bundle(SPARK, tmp_path, pip)
    assert pip.ran[0][-1:] == ["a-b==1.5"]
    other = Pip()
    wheels.bundle({**SPARK, "machine": "x86_64"}, tmp_path, other)
    assert other.ran[0][-3:] == WANTED


def test_without_internet_the_wheels_that_lack_are_named(tmp_path: Path) -> None:
    said = "WARNING: Retrying (Retry(total=0))\nERROR: Could not find a version that satisfies a-b==1.5\n"
    with pytest.raises(FloorError) as caught:
        wheels.bundle(SPARK, tmp_path, Pip("a-b==1.5", "c-clib>=0.2", said=said))
    assert str(caught.value) == (
        "wheels for a box with aarch64, Python 3.12, glibc 2.39 cannot be had: a-b==1.5, c-clib>=0.2\n"
        "  pip: ERROR: Could not find a version that satisfies a-b==1.5\n"
        "  connect this machine to the internet once, or set PIP_FIND_LINKS to a folder that holds them"
    )
    assert not list(tmp_path.glob("*.tar"))
    pip = Pip()
    wheels.bundle(SPARK, tmp_path, pip)
    assert pip.ran[0][-2:] == ["a-b==1.5", "c-clib>=0.2"]  # what had come is not asked for again


def test_pip_that_says_nothing_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(FloorError, match="pip: no word of why"):
        wheels.bundle(SPARK, tmp_path, Pip("a-b==1.5", said=""))


def test_pip_is_asked_for_the_boxes_platform_not_for_this_one(tmp_path: Path) -> None:
    argv = wheels.pip_argv(["a==1"], Platform("aarch64", (3, 12), (2, 39)), tmp_path)
    assert argv[:5] == [sys.executable, "-P", "-m", "pip", "download"]
    assert "--only-binary=:all:" in argv
    assert argv[argv.index("--python-version") + 1] == "312"
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--abi"] == ["cp312", "abi3", "none"]
    assert "manylinux2014_aarch64" in argv
    assert not any("x86_64" in word for word in argv)


def test_the_same_content_gives_the_same_bundle(tmp_path: Path) -> None:
    one, two = (wheels.bundle(SPARK, tmp_path / name, Pip()) for name in "ab")
    assert one.payload == two.payload


def test_old_bundles_are_removed(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"0.1.0+{number:012}-x.tar").write_bytes(b"")
    wheels.bundle(SPARK, tmp_path, Pip())
    assert len(list(tmp_path.glob("*.tar"))) == wheels.KEPT


def test_a_release_is_named_after_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    first = wheels.release_id()
    assert re.fullmatch(r"0\.1\.0\+[0-9a-f]{12}", first)
    for change in ("files", "needs"):
        wheels.release_id.cache_clear()
        with monkeypatch.context() as patch:
            if change == "files":
                patch.setattr(wheels, "own_files", lambda: {"floor/a.py": b"x"})
            else:
                patch.setattr(wheels, "closure", lambda _platform: ["a-b==1.6"])
            assert wheels.release_id() != first
    wheels.release_id.cache_clear()
    assert wheels.release_id() == first


def test_moving_a_byte_from_one_file_to_the_next_changes_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for files in ({"a": b"xy", "b": b""}, {"a": b"x", "b": b"y"}, {"ax": b"y", "b": b""}):
        wheels.release_id.cache_clear()
        monkeypatch.setattr(wheels, "own_files", lambda files=files: files)
        names.add(wheels.release_id())
    assert len(names) == 3


@pytest.mark.parametrize("wrong", [{"libc": None}, {"python": None}, {"machine": ""}, {"libc": "musl"}])
def test_a_box_without_glibc_is_refused_in_words(wrong: dict[str, Any]) -> None:
    with pytest.raises(FloorError, match=r"no wheels for such a box: .*; floor runs on Debian and Ubuntu"):
        wheels.platform_of({**SPARK, **wrong})


def test_a_file_that_is_no_wheel_by_name_does_not_disturb(tmp_path: Path) -> None:
    wheels.bundle(SPARK, tmp_path, Pip()).path.unlink()
    next(tmp_path.glob("*/A_b*")).with_name("broken.whl").write_bytes(b"")
    wheels.bundle(SPARK, tmp_path, Pip())


def test_the_newest_wheel_that_fits_a_range_is_taken(tmp_path: Path) -> None:
    wheels.bundle(SPARK, tmp_path, Pip()).path.unlink()
    old = next(tmp_path.glob("*/c.clib*"))
    old.with_name("c.clib-0.10-cp312-cp312-manylinux_2_17_aarch64.whl").write_bytes(b"")
    assert "c.clib-0.10-cp312-cp312-manylinux_2_17_aarch64.whl" in names(wheels.bundle(SPARK, tmp_path, Pip()))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"XDG_CACHE_HOME": "/c"}, "/c/floor/wheels"), ({}, str(Path.home() / ".cache/floor/wheels"))],
)
def test_wheels_are_kept_in_the_users_cache(environment: dict[str, str], expected: str) -> None:
    assert str(wheels.cache_folder(environment)) == expected
