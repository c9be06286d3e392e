"""A look at a machine without floor: standard library only, and whatever the user may not see is None."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from floor.box import bare


@pytest.fixture
def etc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every absolute path of the module lies below a temporary folder."""
    real = Path

    def below(path: str) -> Path:
        return (
            tmp_path / path.lstrip("/") if path.startswith("/") and not path.startswith(str(tmp_path)) else real(path)
        )

    monkeypatch.setattr(bare, "Path", below)
    (tmp_path / "etc/nginx/sites-enabled").mkdir(parents=True)
    (tmp_path / "etc/nginx/conf.d").mkdir()
    return tmp_path


def test_it_imports_nothing_but_the_standard_library() -> None:
    tree = ast.parse(Path(str(bare.__file__)).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_run_as_a_script_it_prints_one_marked_line_of_json() -> None:
    script = Path(str(bare.__file__)).read_text()
    done = subprocess.run([sys.executable, "-I", "-"], input=script, capture_output=True, text=True, check=True)
    line = done.stdout.removeprefix("@floor ")
    seen = json.loads(line)["ok"]
    assert seen["python"] == ".".join(map(str, sys.version_info[:3]))
    assert seen["sudo"] in ("root", "free", "password", "none")
    assert set(seen["folders"]) == set(bare.FOLDERS)


@pytest.mark.parametrize(
    ("root", "there", "code", "expected"),
    [(True, False, 0, "root"), (False, False, 0, "none"), (False, True, 0, "free"), (False, True, 1, "password")],
)
def test_how_to_become_root(monkeypatch: pytest.MonkeyPatch, root: bool, there: bool, code: int, expected: str) -> None:
    monkeypatch.setattr(bare.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(bare.shutil, "which", lambda _name: "/usr/bin/sudo" if there else None)
    monkeypatch.setattr(bare, "_said", lambda *_argv: (code, ""))
    assert bare._sudo() == expected


def test_the_user_behind_sudo_is_the_one_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1")
    assert bare.look()["user"] == "daemon"


def test_a_rule_is_told_by_its_digest(etc: Path) -> None:
    rule = etc / "etc/sudoers.d/zz-floor-ops"
    assert bare._rule(rule) == ""
    rule.parent.mkdir(parents=True)
    rule.write_text("x")
    assert bare._rule(rule) == hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize(("out", "expected"), [('@floor {"error": {}}\n', "allowed"), ("", None)])
def test_a_rule_that_may_not_be_read_is_tried(monkeypatch: pytest.MonkeyPatch, out: str, expected: str | None) -> None:
    def denied(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(bare, "_said", lambda *argv: (ran.append(argv), (1, out))[1])
    assert bare._rule(Path("/etc/sudoers.d/zz-floor-ops")) == expected
    assert ran == [("sudo", "-n", "/opt/floor/current/bin/python", "-I", "-m", "floor.agent")]


def test_folders_are_told_with_owner_and_mode(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o700)
    assert bare._folder(tmp_path / "d") == {"folder": True, "mode": 0o700, "owner": "root"}
    assert bare._folder(tmp_path / "none") is None
    (tmp_path / "link").symlink_to(tmp_path / "d")
    assert (bare._folder(tmp_path / "link") or {})["folder"] is False


def test_a_folder_below_one_that_is_closed_is_hidden_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "lstat", denied)
    assert bare._folder(Path("/etc/floor/secrets")) == {"hidden": True}


def test_a_release_counts_when_it_is_complete(tmp_path: Path) -> None:
    current = tmp_path / "current"
    assert bare._release(current) is None
    (tmp_path / "0.1.0+x").mkdir()
    current.symlink_to("0.1.0+x")
    assert bare._release(current) is None
    (tmp_path / "0.1.0+x/floor-release").write_text("")
    assert bare._release(current) is None
    (tmp_path / "0.1.0+x/bin").mkdir()
    (tmp_path / "0.1.0+x/bin/python").symlink_to(sys.executable)
    assert bare._release(current) == "0.1.0+x"
    (tmp_path / "0.1.0+x/bin/python").unlink()
    (tmp_path / "0.1.0+x/bin/python").symlink_to("/usr/bin/python3.1")  # an upgrade took it away
    assert bare._release(current) is None


def packaged(etc: Path, monkeypatch: pytest.MonkeyPatch, code: int = 0) -> None:
    (etc / "etc/nginx/nginx.conf").write_text("worker_processes auto;\n")
    (etc / "etc/nginx/sites-enabled/default").symlink_to("/etc/nginx/sites-available/default")
    digest = hashlib.md5((etc / "etc/nginx/nginx.conf").read_bytes(), usedforsecurity=False).hexdigest()
    listed = f" /etc/nginx/nginx.conf {digest}\n /etc/nginx/gone.conf 0123\n /etc/logrotate.d/nginx abcd\n"
    monkeypatch.setattr(bare, "_said", lambda *_argv: (code, listed))


def test_an_untouched_package_serves_its_welcome_page_only(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged(etc, monkeypatch)
    assert bare._as_packaged() is True


@pytest.mark.parametrize("path", ["sites-enabled/shop", "conf.d/api.conf"])
def test_a_site_of_somebody_is_not_the_package(etc: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    packaged(etc, monkeypatch)
    (etc / "etc/nginx" / path).write_text("server {}")
    assert bare._as_packaged() is False


def test_an_edited_configuration_is_not_the_package(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged(etc, monkeypatch)
    (etc / "etc/nginx/nginx.conf").write_text("stream {}\n")
    assert bare._as_packaged() is False


def test_an_nginx_that_dpkg_does_not_know_is_somebodys_own(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged(etc, monkeypatch, code=1)
    assert bare._as_packaged() is False


def test_a_program_that_hangs_or_is_missing_says_nothing() -> None:
    assert bare._said("no-such-program-anywhere")[0] == 127
