"""systemd's own opinion of every unit: it must say nothing at all, for it ends with 0 on keys that it ignores."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from floor.desired.state import BoxState
from tests.unit.desired.example import make
from tests.unit.desired.test_groups import NATIVE, split

UNITS = "etc/systemd/system"
PROGRAMS = (
    "opt/floor/current/bin/python",
    "opt/vllm/bin/vllm",
    "usr/bin/docker",
    "usr/bin/find",
    "usr/bin/grep",
    "usr/sbin/nginx",
    "usr/sbin/nft",
    "bin/sh",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A box's root folder as far as systemd-analyze looks: its own units, and programs that exist."""
    root = tmp_path_factory.mktemp("box")
    shutil.copytree("/usr/lib/systemd/system", root / "usr/lib/systemd/system", symlinks=True)
    for program in PROGRAMS:
        place = root / program
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("/usr/bin/true", place)
    return root


def _verify(root: Path, names: Iterable[str]) -> str:
    command = ["systemd-analyze", "verify", f"--root={root}", "--man=no", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr


def _write(root: Path, state: BoxState) -> list[str]:
    shutil.rmtree(root / UNITS, ignore_errors=True)
    (root / UNITS).mkdir(parents=True)
    units = [file for file in state.files if file.path.startswith(f"/{UNITS}")]
    for file in units:
        (root / file.path.lstrip("/")).write_text(file.text)
    return [Path(file.path).name for file in units]


@pytest.mark.parametrize("box", ["spark-a", "spark-b"])
def test_systemd_has_nothing_to_say(root: Path, box: str) -> None:
    names = _write(root, make()[box])
    assert len(names) >= 4
    assert _verify(root, names) == ""


@pytest.mark.parametrize("box", ["spark-a", "spark-b"])
@pytest.mark.parametrize("runtime", ["", f", {NATIVE}"], ids=["docker", "native"])
def test_nor_of_the_parts_of_a_group(root: Path, box: str, runtime: str) -> None:
    names = _write(root, split(f"tensor_parallel: 2{runtime}")[box])
    assert {"floor-group-flagship.service", "floor-group.service"} <= set(names)
    assert _verify(root, names) == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("StartLimitBurst=10\n\n[Service]", "\n[Service]\nStartLimitIntervalSec=5", "StartLimitIntervalSec"),
        ("Restart=always", "Restart=allways", "allways"),
        ("/usr/bin/docker run", "/usr/bin/doker run", "doker"),
        ("RestartSec=10", "RestartSecond=10", "RestartSecond"),
    ],
)
def test_it_would_tell(root: Path, old: str, new: str, said: str) -> None:
    names = _write(root, make()["spark-a"])
    copy = root / UNITS / "floor-copy-flagship.service"
    assert old in copy.read_text()
    copy.write_text(copy.read_text().replace(old, new))
    assert said in _verify(root, names)
