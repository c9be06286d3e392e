"""What is done on a machine to make it a box: each action by the commands it runs and the files it leaves."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from floor.box import files, paths, prepare, releases, removal
from floor.box.command import Result

from .conftest import Programs


@pytest.fixture
def box(programs: Programs, root: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Every command answers from `programs`, every file lies below `root`."""
    monkeypatch.setattr(prepare.command, "run", lambda argv, **_more: programs(argv))
    monkeypatch.setattr(prepare, "SUDOERS", root / "sudoers.d")
    monkeypatch.setattr(prepare.paths, "ROOT", root)
    write = files.write
    monkeypatch.setattr(files, "write", lambda path, text, **more: write(path, text, **{**more, "root": root}))
    return programs


def do(root: Path, action: str, params: Mapping[str, Any], **files_: bytes) -> list[str]:
    """Carry one action out as the far end does; return what it said."""
    folder = root / "carried"
    folder.mkdir(exist_ok=True)
    for name, data in files_.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    plan = {"box": "spark-a", "actions": [{"do": action, "text": action, "params": params}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    said: list[str] = []
    code = prepare.main(folder, said.append)
    assert code == (1 if len(said) > 1 else 0)
    return said


def test_packages_are_installed_from_what_the_box_knows(box: Programs, root: Path) -> None:
    box.on("apt-get")
    assert do(root, "packages", {"packages": ["nginx", "sudo"]}) == ["  spark-a: packages"]
    assert [" ".join(argv) for argv in box.ran] == [
        "apt-get -o DPkg::Lock::Timeout=300 -q install --yes --no-install-recommends nginx sudo"
    ]


def test_lists_that_are_too_old_are_brought_up_to_date_once(box: Programs, root: Path) -> None:
    answers = [Result(100, "", "404 Not Found"), Result(0, "", "")]
    box.rules.append((("install",), lambda _argv: answers.pop(0)))
    box.on("update")
    assert len(do(root, "packages", {"packages": ["nginx"]})) == 1
    assert [argv[4] for argv in box.ran] == ["install", "update", "install"]


def test_a_box_that_cannot_install_says_what_apt_said(box: Programs, root: Path) -> None:
    box.on("install", err="E: Unable to locate package nginx", code=100)
    box.on("update", err="E: Temporary failure resolving", code=100)
    assert do(root, "packages", {"packages": ["nginx"]})[1] == (
        "spark-a: apt-get cannot install nginx:\nE: Unable to locate package nginx\n"
        "  install it by hand, then run floor setup again"
    )


@pytest.mark.parametrize("stop", [False, True])
def test_nginxs_own_service_is_masked_and_what_it_was_is_remembered(box: Programs, root: Path, stop: bool) -> None:
    box.on("systemctl")
    do(root, "mask", {"stop": stop, "was": "enabled"})
    verbs = [argv[1] for argv in box.ran]
    assert verbs == (["stop", "mask"] if stop else ["mask"])
    assert json.loads((root / "var/lib/floor/setup.json").read_text()) == {"masked": True, "was": "enabled"}


def test_a_second_setup_does_not_forget_what_the_service_was_at_first(box: Programs, root: Path) -> None:
    box.on("systemctl")
    do(root, "mask", {"stop": True, "was": "enabled"})
    do(root, "mask", {"stop": False, "was": "disabled"})
    assert json.loads((root / "var/lib/floor/setup.json").read_text())["was"] == "enabled"


def test_the_user_has_no_login_and_no_home_of_its_own(box: Programs, root: Path) -> None:
    box.on("getent", code=2)
    box.on("useradd")
    box.on("usermod")
    do(root, "user", {"groups": ["render", "video"]})
    assert [" ".join(argv) for argv in box.ran[1:]] == [
        "useradd --system --user-group --home-dir /var/cache/floor --no-create-home --shell /usr/sbin/nologin floor",
        "usermod --append --groups render,video floor",
    ]


def test_a_user_that_is_there_only_joins_groups(box: Programs, root: Path) -> None:
    box.on("getent")
    box.on("usermod")
    do(root, "user", {"groups": ["video"]})
    assert [argv[0] for argv in box.ran] == ["getent", "usermod"]


def test_a_command_that_fails_is_told_with_its_words(box: Programs, root: Path) -> None:
    box.on("getent", code=2)
    box.on("useradd", err="useradd: cannot lock /etc/passwd; try again later.", code=1)
    assert do(root, "user", {"groups": []})[1].endswith("failed: useradd: cannot lock /etc/passwd; try again later.")


def test_folders_are_made_with_owner_and_mode_whatever_they_were(box: Programs, root: Path) -> None:
    (root / "old").mkdir(mode=0o777)
    wish = {"owner": "root", "mode": 0o700}
    do(root, "folders", {"folders": {str(root / "old"): wish, str(root / "a/b"): wish}})
    assert (root / "old").stat().st_mode & 0o777 == 0o700
    assert (root / "a/b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_is_no_folder_is_named_and_left(box: Programs, root: Path, kind: str) -> None:
    place = root / "x"
    if kind == "link":
        (root / "target").mkdir()
        place.symlink_to(root / "target")
    else:
        place.write_text("")
    said = do(root, "folders", {"folders": {str(place): {"owner": "root", "mode": 0o700}}})
    assert said[1] == f"spark-a: {place}: is a link or a file where a folder must be; move it away"


def test_a_rule_is_checked_under_a_name_that_sudo_does_not_read(box: Programs, root: Path) -> None:
    seen: list[tuple[str, str, int]] = []

    def visudo(argv: Any) -> Result:
        staged = Path(argv[-1])
        seen.append((staged.name, staged.read_text(), staged.stat().st_mode & 0o777))
        return Result(0, "", "")

    box.rules.append((("visudo",), visudo))
    do(root, "rule", {"name": "zz-floor-ops", "text": "ops ALL=x\n"})
    assert seen == [(".zz-floor-ops.new", "ops ALL=x\n", 0o440)]
    assert [path.name for path in (root / "sudoers.d").iterdir()] == ["zz-floor-ops"]
    assert (root / "sudoers.d/zz-floor-ops").stat().st_mode & 0o777 == 0o440


def test_a_rule_that_sudo_does_not_understand_takes_sudo_from_nobody(box: Programs, root: Path) -> None:
    box.on("visudo", err="syntax error near line 1", code=1)
    assert "syntax error near line 1" in do(root, "rule", {"name": "zz-floor-ops", "text": "nonsense"})[1]
    assert list((root / "sudoers.d").iterdir()) == []


def test_the_release_that_was_carried_over_is_installed(
    box: Programs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[tuple[Any, ...]] = []
    monkeypatch.setattr(releases, "install", lambda *words, python: got.append((*words, python)))
    do(root, "release", {"release": "0.1.0+aaaaaaaaaaaa"}, release_tar=b"wheels")
    digest = hashlib.sha256(b"wheels").hexdigest()
    assert got == [("0.1.0+aaaaaaaaaaaa", b"wheels", digest, str(Path(sys.executable).resolve()))]


@pytest.mark.parametrize("purge", [False, True])
def test_removal_is_an_action_as_well(box: Programs, root: Path, monkeypatch: pytest.MonkeyPatch, purge: bool) -> None:
    got: list[bool] = []
    monkeypatch.setattr(removal, "remove", lambda *, purge: got.append(purge))
    do(root, "remove", {"purge": purge})
    assert got == [purge]


def test_after_a_failure_nothing_more_is_done(box: Programs, root: Path) -> None:
    folder = root / "carried"
    folder.mkdir()
    broken = {"do": "rule", "text": "rule", "params": {"name": "x", "text": "y"}}
    later = {
        "do": "folders",
        "text": "later",
        "params": {"folders": {str(root / "z"): {"owner": "root", "mode": 0o700}}},
    }
    (folder / "plan.json").write_text(json.dumps({"box": "a", "actions": [broken, later]}))
    said: list[str] = []
    assert prepare.main(folder, said.append) == 1
    assert not (root / "z").exists()
    assert "  a: later" not in said


def test_it_runs_on_the_standard_library_alone() -> None:
    """On a bare machine there is no psutil and no httpx yet: importing must not need them."""
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['psutil', 'httpx', 'pydantic', 'yaml', 'jinja2', 'typer']));"
        "import floor.box.prepare; print('fine')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


def test_paths_are_the_real_ones_outside_of_tests() -> None:
    assert str(prepare.STATE) == "/var/lib/floor/setup.json"
    assert str(paths.LIB) == "/var/lib/floor"
