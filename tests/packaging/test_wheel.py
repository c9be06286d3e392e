"""floor as a package: what the wheel holds, that it works where nothing else of the checkout is, and that it leaves."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from floor import __version__
from floor.apply import own_wheel, wheels
from tests.packaging.conftest import ROOT, Installed, build, names
from tests.packaging.venv import Venv

OUR_TOP_LEVELS = ("healthcheck", "tooltest", "watchdog", "templates", "tests", "docs", "examples", "benchmarks")


def test_the_wheel_holds_what_floor_itself_carries_to_boxes(wheel: Path) -> None:
    """And byte for byte, so that a box runs what was released."""
    carried = own_wheel.contents(own_wheel.package())
    assert names(wheel) == set(carried)
    with zipfile.ZipFile(wheel) as archive:
        assert {name: archive.read(name) for name in carried} == carried


def test_the_wheel_has_one_top_level_name(wheel: Path) -> None:
    assert {name.split("/")[0] for name in names(wheel)} == {"floor"}


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        about = f"factory_floor-{__version__}.dist-info"
        told = message_from_bytes(archive.read(f"{about}/METADATA"))
        assert f"{about}/licenses/LICENSE" in archive.namelist()
        assert archive.read(f"{about}/entry_points.txt").decode().split() == [
            "[console_scripts]",
            "floor",
            "=",
            "floor.__main__:main",
        ]
    assert (told["Name"], told["Version"], told["Requires-Python"]) == ("factory-floor", __version__, ">=3.11")


def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """The links below floor/ are folders in an archive."""
    rebuilt = build(sdist, tmp_path)
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(rebuilt) as other:
        assert {n: one.read(n) for n in one.namelist()} == {n: other.read(n) for n in other.namelist()}


def test_the_sdist_holds_what_a_packager_needs_and_nothing_of_this_machine(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    found = {member.name.partition("/")[2] for member in members}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "tests/lab/packages.txt"} <= found
    assert all(member.isfile() or member.isdir() for member in members)
    assert not {name for name in found if ".venv" in name or "__pycache__" in name or name.endswith(".pyc")}


def test_commands_run_from_the_wheel_alone(installed: Installed) -> None:
    venv = installed.venv
    assert venv("floor", "--version") == f"{__version__}\n"
    assert "Usage: floor [OPTIONS] COMMAND" in venv("floor", "--help")
    assert "usage: " in venv.python("-m", "floor.healthcheck", "--help")
    assert "--sim-load-time" in venv.python("-m", "floor.sim", "--help")
    assert venv.python("-m", "floor", "--version") == f"{__version__}\n"


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "examples").glob("*.yaml")))
def test_examples_are_checked_and_rendered(installed: Installed, example: str, tmp_path: Path) -> None:
    """Rendering needs every template, so this shows that they are in the wheel."""
    config = ROOT / "examples" / example
    installed.venv("floor", "check", "--config", config)
    installed.venv("floor", "render", "--config", config, "--out", tmp_path)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "floor-proxy.service" for path in written)
    assert any(path.name == "nginx.conf" for path in written)
    assert any(path.name.startswith("floor-copy-") for path in written)


def test_every_module_can_be_imported(installed: Installed) -> None:
    """With what the wheel requires and nothing that only developers have."""
    modules = sorted(
        path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path in own_wheel.contents(own_wheel.package())
        if path.endswith(".py") and not path.endswith("__main__.py")
    )
    script = "import importlib, json, sys\nfor name in json.loads(sys.argv[1]): importlib.import_module(name)"
    installed.venv.python("-W", "error", "-c", script, json.dumps(modules))


def test_a_wheel_and_a_checkout_are_the_same_release(installed: Installed) -> None:
    """Two persons, one with each, do not push their boxes to and fro. As far as both have the same libraries."""
    script = "from floor.apply import wheels; import hashlib, json\n"
    script += "print(json.dumps({path: hashlib.sha256(data).hexdigest() for path, data in wheels.own_files().items()}))"
    here = {path: hashlib.sha256(data).hexdigest() for path, data in wheels.own_files().items()}
    assert json.loads(installed.venv.python("-c", script)) == here


def test_other_packages_of_those_names_stay_what_they_are(installed: Installed) -> None:
    venv = installed.venv
    script = "import watchdog.observers, watchdog.version; print(watchdog.observers.Observer, watchdog.__file__)"
    assert str(venv.packages / "watchdog") in venv.python("-c", script)
    after = venv.files()
    assert {path: after.get(path) for path in installed.watchdog} == installed.watchdog
    tops = {path.split("/")[0] for path in after}
    assert not tops & (set(OUR_TOP_LEVELS) - {"watchdog"})
    ours = (venv.packages / f"factory_floor-{__version__}.dist-info" / "RECORD").read_text()
    assert not [line for line in ours.splitlines() if line.startswith(OUR_TOP_LEVELS)]
    assert venv.pip("check") == "No broken requirements found.\n"


def test_uninstalling_takes_floor_and_nothing_else(wheel: Path, installed: Installed, tmp_path: Path) -> None:
    """In an environment of its own; without what floor requires, which is no matter here."""
    venv = Venv(tmp_path)
    _lay(venv, installed.watchdog)
    before = venv.files()
    venv.install("--no-deps", wheel)
    assert venv.program("floor").exists()
    venv.pip("uninstall", "--quiet", "--yes", "factory-floor")
    assert venv.files() == before
    assert not (venv.packages / "floor").exists()
    assert not venv.program("floor").exists()
    assert "Observer" in venv.python("-c", "import watchdog.observers; print(watchdog.observers.Observer)")


def _lay(venv: Venv, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        place = venv.packages / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
