"""The system's own ssh: which words it gets, and that nothing a person wrote becomes an option or a command."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from floor.apply import ssh
from floor.apply.exchange import UnreachableError
from floor.apply.ssh import SshTransport
from floor.errors import BoxError, FloorError

FakeSsh = Callable[[str], Path]
AGENT = "sudo -n /opt/floor/current/bin/python -I -m floor.agent"


def test_the_whole_command_line(fake_ssh: FakeSsh, short: Path) -> None:
    noted = fake_ssh("""read -r _; echo '@floor {"ok": 1}'""")
    assert SshTransport("spark-a", "ops@spark-a").call("observe") == 1
    assert noted.read_text().split("\n")[:-1] == [
        "-o",
        "BatchMode=yes",
        "-o",
        "ControlMaster=auto",
        "-o",
        f"ControlPath={short}/floor-ssh/%C",
        "-o",
        "ControlPersist=60",
        "-o",
        "ConnectTimeout=10",
        "-o",
        "ServerAliveInterval=3",
        "-o",
        "ServerAliveCountMax=3",
        "-T",
        "--",
        "ops@spark-a",
        *AGENT.split(),
    ]


def test_no_secret_is_ever_in_the_command_line(fake_ssh: FakeSsh) -> None:
    noted = fake_ssh("""read -r _; echo '@floor {"ok": 1}'""")
    SshTransport("a", "a").call("secrets.put", {"engine": "TOPSECRET", "status": "TOPSECRET"})
    assert "TOPSECRET" not in noted.read_text()


def test_the_words_mean_the_same_to_any_shell_on_the_way(fake_ssh: FakeSsh) -> None:
    """ssh joins them with spaces and a shell takes them apart again."""
    noted = fake_ssh("""read -r _; echo '@floor {"ok": 1}'""")
    SshTransport("a", "a").call("observe")
    far = " ".join(noted.read_text().split("\n--\n")[1].split("\n")[1:-1])
    assert far == AGENT
    assert shlex.split(far) == AGENT.split()


def test_another_configuration_is_used_when_it_is_named(fake_ssh: FakeSsh, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = fake_ssh("""read -r _; echo '@floor {"ok": 1}'""")
    monkeypatch.setenv("FLOOR_SSH_CONFIG", "/tmp/my config")
    SshTransport("a", "a").call("observe")
    assert noted.read_text().startswith("-F\n/tmp/my config\n")


def test_an_agent_behind_ssh_answers(fake_ssh: FakeSsh, tmp_path: Path) -> None:
    """A real agent in place of the far command: the request goes through two programs and comes back."""
    fake_ssh(f"exec {sys.executable} -I -m floor.agent --root {tmp_path}")
    with pytest.raises(BoxError, match=r"spark-a: call 'nope': not known here; known are bench\.level, box\.reboot"):
        SshTransport("spark-a", "ops@spark-a").call("nope")


@pytest.mark.parametrize(
    ("said", "code", "error", "words"),
    [
        ("ssh: connect to host spark-a port 22: No route to host", 255, UnreachableError, "there is no way to it"),
        ("ssh: connect to host a port 22: Connection refused", 255, UnreachableError, r"\(ssh: connect to host a"),
        ("Host key verification failed.", 255, BoxError, "its host key is not known here"),
        ("sudo: a password is required", 1, BoxError, "run `floor setup spark-a`"),
    ],
)
def test_a_failure_is_told_in_words(
    fake_ssh: FakeSsh, said: str, code: int, error: type[Exception], words: str
) -> None:
    fake_ssh(f"read -r _; echo {shlex.quote(said)} >&2; exit {code}")
    with pytest.raises(error, match=words) as caught:
        SshTransport("spark-a", "ops@spark-a").call("observe")
    assert type(caught.value) is error


def test_a_machine_without_ssh_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BoxError, match="the program `ssh` is not installed on this machine"):
        SshTransport("a", "a").call("observe")


@pytest.mark.parametrize(
    ("destination", "expected"),
    [
        ("spark-a", "spark-a"),
        ("ops@192.0.2.11", "ops@192.0.2.11"),
        ("ops@fd00::2", "ops@fd00::2"),
        ("ops@[fd00::2]", "ops@fd00::2"),
        ("[fe80::1%eth0]", "fe80::1%eth0"),
        ("ssh://ops@spark-a:2222", "ssh://ops@spark-a:2222"),
        ("ssh://ops@[fd00::2]:22", "ssh://ops@[fd00::2]:22"),
        ("user@domain@host", "user@domain@host"),
    ],
)
def test_destinations_are_given_to_ssh_as_it_takes_them(destination: str, expected: str) -> None:
    assert ssh.target("a", destination) == expected


@pytest.mark.parametrize(
    "destination",
    [
        "",
        "-oProxyCommand=touch /tmp/x",
        "ops@-oProxyCommand=x",
        "a b",
        "a;b",
        "$(x)",
        "`x`",
        "a\nb",
        "ops@",
        "a|b",
        "'a'",
        "a&b",
    ],
)
def test_a_destination_that_could_be_an_option_or_a_command_is_refused(destination: str) -> None:
    with pytest.raises(BoxError, match="is no destination; write USER@HOST or a name of your ssh config"):
        ssh.target("spark-a", destination)


def test_connections_are_shared_in_a_private_folder(short: Path) -> None:
    folder = ssh.control_folder({"XDG_RUNTIME_DIR": str(short)}, os.geteuid())
    assert folder == short / "floor-ssh"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert ssh.control_folder({"XDG_RUNTIME_DIR": str(short)}, os.geteuid()) == folder


def test_a_runtime_folder_that_is_too_long_or_missing_is_not_used(tmp_path: Path) -> None:
    """Seen with 104 bytes for a socket's path: ssh says `too long for Unix domain socket` and every call fails."""
    long = tmp_path / ("x" * 60)
    long.mkdir()
    for given in ({"XDG_RUNTIME_DIR": str(long)}, {"XDG_RUNTIME_DIR": "/nowhere/at/all"}, {}):
        folder = ssh.control_folder(given, os.geteuid())
        assert folder == Path(f"/tmp/floor-ssh-{os.geteuid()}")
        assert len(f"{folder}/{'a' * 40}.{'b' * 16}") < 104


@pytest.mark.parametrize("kind", ["open", "link", "file"])
def test_a_folder_that_others_could_use_is_refused(short: Path, kind: str) -> None:
    place = short / "floor-ssh"
    if kind == "open":
        place.mkdir(mode=0o755)
        place.chmod(0o755)
    elif kind == "link":
        (short / "x").mkdir(mode=0o700)
        place.symlink_to(short / "x")
    else:
        place.write_text("")
    with pytest.raises(FloorError, match="must be a folder of your own with mode 0700; remove it and try again"):
        ssh.control_folder({"XDG_RUNTIME_DIR": str(short)}, os.geteuid())


def test_a_folder_of_another_user_is_refused(short: Path) -> None:
    (short / "floor-ssh").mkdir(mode=0o700)
    with pytest.raises(FloorError, match="must be a folder of your own"):
        ssh.control_folder({"XDG_RUNTIME_DIR": str(short)}, os.geteuid() + 1)


def test_parameters_of_any_kind_pass_unchanged(fake_ssh: FakeSsh) -> None:
    fake_ssh(
        f"exec {sys.executable} -c 'import json, sys; r = json.loads(sys.stdin.readline()); "
        'print("@floor " + json.dumps({"ok": r["params"]}))\''
    )
    params = {"text": '{"method": "mtp"} 100% $HOME %% "x" \'y\' \\ \n ☃', "list": [1, None, True]}
    assert SshTransport("a", "a").call("x", json.loads(json.dumps(params))) == params
