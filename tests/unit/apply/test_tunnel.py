"""A port of this machine on a box: by an ssh of its own, on the box's loopback alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from floor.apply import tunnel
from floor.apply.transport import UnreachableError
from floor.errors import BoxError


def test_the_command_shares_no_connection_and_offers_the_port_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOOR_SSH_CONFIG", "/x/config")
    argv = tunnel.argv("spark-a", "ops@spark-a", 4711)
    assert argv[:3] == ["ssh", "-F", "/x/config"]
    assert argv[-5:] == ["-N", "-R", "127.0.0.1:0:127.0.0.1:4711", "--", "ops@spark-a"]
    assert {"ControlPath=none", "ExitOnForwardFailure=yes", "BatchMode=yes"} <= set(argv)


def ssh(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Put a program in place of ssh."""
    (folder / "ssh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "ssh").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_the_port_that_ssh_got_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = "echo 'Allocated port 40123 for remote forward to 127.0.0.1:4711' >&2; exec sleep 60"
    ssh(monkeypatch, tmp_path, said)
    with tunnel.reverse("spark-a", "spark-a", 4711) as port:
        assert port == 40123


def test_this_machine_itself_needs_none() -> None:
    with tunnel.reverse("spark-a", "local", 4711) as port:
        assert port == 4711


@pytest.mark.parametrize(
    ("script", "kind", "told"),
    [
        (
            "echo 'Warning: remote port forwarding failed for listen port 0' >&2; exit 255",
            BoxError,
            "forwarding failed for listen port 0); see AllowTcpForwarding in its sshd_config",
        ),
        (
            "echo 'ssh: connect to host spark-a port 22: No route to host' >&2; exit 255",
            UnreachableError,
            "no way to it",
        ),
    ],
)
def test_where_that_fails_it_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, kind: type[BoxError], told: str
) -> None:
    ssh(monkeypatch, tmp_path, script)
    with pytest.raises(kind) as caught, tunnel.reverse("spark-a", "spark-a", 4711):
        pass
    assert told in str(caught.value)
