"""Plain commands on a machine without an agent: what is sent, how it is started as root, and failures in words."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floor.apply import own_wheel, reach, wheels
from floor.apply.exchange import UnreachableError
from floor.apply.reach import Reach, guarded
from floor.errors import BoxError

FakeSsh = Callable[[str], Path]
# The last word of ssh's argv is the far command: run it here, with this Python as the far one.
HERE = 'for last; do :; done; PATH="$(dirname "$0")/far:$PATH"; export PATH; exec sh -c "$last"'


@pytest.fixture
def far(fake_ssh: FakeSsh, tmp_path: Path) -> Path:
    """A far machine that is this one; return the folder of its programs."""
    fake_ssh(HERE)
    folder = tmp_path / "bin" / "far"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    return folder


def program(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def run_guarded(script: str, version: tuple[int, ...]) -> str:
    pretend = f"import sys; sys.version_info = {version}\n"
    done = subprocess.run([sys.executable, "-I", "-c", pretend + script], capture_output=True, text=True, check=True)
    return done.stdout


def test_an_old_python_names_its_version_and_runs_nothing() -> None:
    script = guarded("match 1:\n    case 1: print('ran')\n")
    assert run_guarded(script, (3, 9, 2)) == '@floor {"ok": {"python": "3.9.2"}}\n'
    assert run_guarded(script, (3, 11, 2)) == "ran\n"


def test_the_guard_itself_is_written_for_old_pythons() -> None:
    """Only what Python 3.4 understands may stand outside of the quoted script."""
    import ast

    ast.parse(guarded("x = 1"), feature_version=(3, 4))


def test_every_word_arrives_as_it_is(far: Path) -> None:
    script = "import json, sys; print('@floor ' + json.dumps({'ok': sys.argv[1:]}))"
    words = ["$HOME", "a b", "'q'", '"d"', "*", ";x", ""]
    assert Reach("a", "ops@a").ask(["python3", "-c", script, *words], b"") == words


def test_a_machine_is_looked_at_as_root_where_that_is_free(far: Path) -> None:
    program(far, "sudo", 'shift; exec "$@"')
    seen = Reach("a", "ops@a").look()
    assert seen["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(seen) >= {"os", "user", "sudo", "nginx", "folders", "rule", "release"}


def test_without_sudo_it_is_looked_at_as_it_is(far: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reach, "ask", lambda _self, command, _sent: {"sudo": "password", "ran": command})
    assert Reach("a", "ops@a").look()["ran"] == ["python3", "-I", "-"]


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (
            "echo 'ssh: connect to host a port 22: No route to host' >&2; exit 255",
            UnreachableError,
            "there is no way to it",
        ),
        (
            "echo 'bash: python3: command not found' >&2; exit 127",
            BoxError,
            "has no python3; run `apt-get install python3`",
        ),
        (
            "echo 'This account is not available.' >&2; exit 1",
            BoxError,
            r"gave no answer \(exit 1: This account is not",
        ),
        ("exit 1", BoxError, r"gave no answer \(exit 1: nothing was printed\)"),
        ("sleep 5", BoxError, "gave no answer within 0.1 s; is it up"),
    ],
)
def test_a_failure_is_told_in_words(fake_ssh: FakeSsh, body: str, error: type[Exception], words: str) -> None:
    fake_ssh(body)
    with pytest.raises(error, match=words) as caught:
        Reach("a", "ops@a").ask(["python3", "-I", "-"], b"", timeout=0.1 if "sleep" in body else 20)
    assert type(caught.value) is error


def test_files_are_carried_into_a_private_folder(far: Path, tmp_path: Path) -> None:
    files = {"a.json": b"{}", "b.tar": bytes(range(256)) * 4000}
    folder = Path(Reach("a", "ops@a").carry(files))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files


def as_root(how: str, monkeypatch: pytest.MonkeyPatch, actions: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Carry a plan over and out; return what was said and the command that was run."""
    said: list[str] = []
    ran: list[str] = []
    real = Reach.argv

    def note(self: Reach, command: list[str], *before: str) -> list[str]:
        ran[:] = [*before, *command]
        return real(self, command, *before)

    monkeypatch.setattr(Reach, "argv", note)
    _, own = own_wheel.build(wheels.own_files())
    Reach("a", "ops@a").as_root(how, {"box": "a", "actions": actions}, {"floor.whl": own}, said.append)
    return said, ran


@pytest.mark.parametrize(("how", "before"), [("root", []), ("free", ["sudo", "-n"])])
def test_a_plan_is_carried_out_by_floors_own_code_from_its_wheel(
    far: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str, before: list[str]
) -> None:
    program(far, "sudo", 'shift; exec "$@"')
    made = tmp_path / "made"
    folders = {str(made): {"owner": "root", "mode": 0o750}}
    action = {"do": "folders", "text": "make a folder", "params": {"folders": folders}}
    said, ran = as_root(how, monkeypatch, [action])
    assert said == ["  a: make a folder"]
    assert made.stat().st_mode & 0o777 == 0o750
    assert ran[:-1] == ["-T", *before, "python3", "-I"]
    assert not Path(ran[-1]).parent.exists()


def test_a_plan_that_fails_says_why_and_leaves_nothing_behind(
    far: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    folders = {str(tmp_path / "file"): {"owner": "root", "mode": 0o755}}
    said: list[str] = []
    _, own = own_wheel.build(wheels.own_files())
    plan = {"box": "a", "actions": [{"do": "folders", "text": "make", "params": {"folders": folders}}]}
    with pytest.raises(
        BoxError, match=r"a: was not prepared to the end \(exit 1\); what was done is kept, run it again"
    ):
        Reach("a", "ops@a").as_root("root", plan, {"floor.whl": own}, said.append)
    assert said[-1] == f"a: {tmp_path / 'file'}: is a link or a file where a folder must be; move it away"


def test_a_password_needs_a_terminal(far: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach.sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(
        BoxError, match="sudo asks for a password there; run this from a terminal, or set it up as root"
    ):
        Reach("a", "ops@a").as_root("password", {"box": "a", "actions": []}, {}, print)


def test_with_a_terminal_sudo_may_ask(far: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach.sys.stdin, "isatty", lambda: True, raising=False)
    program(far, "sudo", 'exec "$@"')
    _, ran = as_root("password", monkeypatch, [])
    assert ran[:4] == ["-t", "sudo", "python3", "-I"]


def test_this_machine_is_reached_without_ssh() -> None:
    assert Reach("here", "local").argv(["python3", "-c", "a b"]) == ["python3", "-c", "a b"]


def test_over_ssh_the_command_is_one_quoted_word(fake_ssh: FakeSsh) -> None:
    fake_ssh("")
    assert shlex.split(Reach("a", "ops@a").argv(["x", "a b"], "-T")[-1]) == ["x", "a b"]


def test_a_look_is_json(far: Path) -> None:
    assert json.dumps(Reach("a", "ops@a").look())


def test_a_module_of_floor_is_carried_over_and_asked(far: Path) -> None:
    seen = Reach("boxa", "ops@boxa").see("floor.box.foreign.look")
    assert {"processes", "containers", "units", "cron", "addresses"} <= set(seen)


def test_an_old_python_cannot_be_asked(far: Path) -> None:
    (far / "python3").unlink()
    program(far, "python3", """echo '@floor {"ok": {"python": "3.9.2"}}'""")
    with pytest.raises(BoxError, match=r"boxa: has Python 3\.9\.2; floor needs 3\.11 there"):
        Reach("boxa", "ops@boxa").see("floor.box.foreign.look")
