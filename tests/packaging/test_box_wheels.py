"""Wheels for boxes of another kind than this machine: all that floor needs there, and nothing for any other kind."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from floor.apply import wheels
from floor.apply.own_wheel import DISTRIBUTION
from floor.errors import FloorError

AARCH64, X86_64 = 183, 62  # e_machine of ELF files (elf(5))
BOXES = {
    "a GB10 with DGX OS 7, or Ubuntu 24.04": ("aarch64", "3.12.3", "2.39"),
    "Debian 12 on ARM": ("aarch64", "3.11.2", "2.36"),
    "Ubuntu 22.04 on ARM with a Python of its own": ("aarch64", "3.11.9", "2.35"),
    "a newer Python on ARM": ("aarch64", "3.13.1", "2.39"),
    "Ubuntu 24.04": ("x86_64", "3.12.3", "2.39"),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")


def carried(facts: tuple[str, str, str], cache: Path) -> dict[str, zipfile.ZipFile]:
    """The wheels of the bundle for a box, by their names."""
    try:
        made = wheels.bundle(dict(zip(("machine", "python", "libc"), facts, strict=True)), cache)
    except FloorError as error:
        pytest.fail(f"{error}\n(needs the package index, or a mirror of it)", pytrace=False)
    with tarfile.open(made.path) as tar:
        members = {member.name: tar.extractfile(member) for member in tar}
        return {name: zipfile.ZipFile(io.BytesIO(file.read())) for name, file in members.items() if file}


def needs(wheel: zipfile.ZipFile) -> list[Requirement]:
    [about] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return [Requirement(text) for text in message_from_bytes(wheel.read(about)).get_all("Requires-Dist") or []]


def machines(wheel: zipfile.ZipFile) -> Iterator[int]:
    """For what machine each library or program in a wheel is."""
    for name in wheel.namelist():
        with wheel.open(name) as file:
            head = file.read(20)
        if head[:4] == b"\x7fELF":
            yield int.from_bytes(head[18:20], "little")


@pytest.mark.parametrize("box", BOXES)
def test_a_bundle_is_all_that_such_a_box_needs(box: str, cache: Path) -> None:
    found = carried(BOXES[box], cache)
    machine, python, libc = BOXES[box]
    version = tuple(map(int, python.split(".")[:2]))
    minor = int(libc.split(".")[1])
    # the tags that a box of that kind accepts, by the library that pip itself asks
    platforms = [f"manylinux_2_{number}_{machine}" for number in range(minor, 4, -1)] + [f"manylinux2014_{machine}"]
    accepted = {*cpython_tags(version, platforms=platforms), *compatible_tags(version, "cp", platforms)}
    there: dict[str, Version] = {}
    for name, wheel in found.items():
        about = parse_wheel_filename(name)
        there[about[0]] = about[1]
        assert about[3] & accepted, f"{name} does not fit {box}"
        assert set(machines(wheel)) <= {AARCH64 if machine == "aarch64" else X86_64}, name
    assert {"pydantic-core", "psutil", "pip", canonicalize_name(DISTRIBUTION)} <= set(there)
    environment = wheels.platform_of({"machine": machine, "python": python, "libc": libc}).markers
    for name, wheel in found.items():
        for wanted in needs(wheel):
            if wanted.marker is None or wanted.marker.evaluate({**environment, "extra": ""}):
                lacking = f"{name} needs {wanted}, {box} gets {there.get(canonicalize_name(wanted.name))}"
                has = there.get(canonicalize_name(wanted.name))
                assert has is not None, lacking
                assert wanted.specifier.contains(has, prereleases=True), lacking


def test_what_is_at_hand_once_needs_no_index_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = BOXES["a GB10 with DGX OS 7, or Ubuntu 24.04"]
    first = carried(facts, cache)
    for bundle in cache.glob("*.tar"):
        bundle.unlink()
    monkeypatch.setattr(wheels, "_download", lambda _argv: (1, "no index"))
    assert set(carried(facts, cache)) == set(first)
