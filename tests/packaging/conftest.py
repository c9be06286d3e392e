"""The wheel and the sdist of this checkout, and the wheel installed beside PyPI's `watchdog`, once for all tests."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packaging.venv import NEEDS, Venv, run

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installed:
    """An environment with floor and PyPI's watchdog in it; `watchdog` are the files of the latter before floor came."""

    venv: Venv
    watchdog: dict[str, bytes]


def build(source: Path, folder: Path) -> Path:
    """Build the wheel of `source` with the build backend that it names, fetched for it as pip does."""
    argv = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source]
    run(argv, folder, f"the wheel could not be built; its build backend {NEEDS}")
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive of this checkout."""
    folder = tmp_path_factory.mktemp("sdist")
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], ROOT, "the sdist could not be built")
    (archive,) = folder.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel beside PyPI's watchdog, which had the top-level name first."""
    venv = Venv(tmp_path_factory.mktemp("installed"))
    venv.install("watchdog")
    before = {path: data for path, data in venv.files().items() if path.startswith("watchdog")}
    venv.install(wheel)
    return Installed(venv, before)


def names(wheel: Path) -> set[str]:
    """What a wheel holds beside its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}
