"""How the unit starts, reloads and stops nginx, with the unit's own command lines."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from floor.box.nginx_test import moved, staged
from floor.desired.state import Kind
from tests.integration.nginx.client import ask
from tests.integration.nginx.raw import Backend
from tests.integration.proxy import Copy, Proxy, site
from tests.unit.desired import unitfile
from tests.unit.render import systemd_reader

CHAT = "/v1/chat/completions"


@pytest.fixture
def backend() -> Iterator[Backend]:
    with Backend() as backend:
        yield backend


@pytest.fixture
def proxy(backend: Backend) -> Iterator[Proxy]:
    """Written, and not started."""
    proxy = Proxy(site([Copy(backend.host, backend.port)]))
    proxy.write()
    yield proxy
    proxy.stop()


def _command(proxy: Proxy, key: str, number: int = 0) -> list[str]:
    """A command line of the proxy's unit, with the places of the test."""
    line = unitfile.read(proxy.state, "floor-proxy.service")["Service", key][number]
    return [moved(word, proxy.root) for word in systemd_reader.command_line(line)]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=10)


def test_every_file_is_what_nginx_takes(proxy: Proxy) -> None:
    """`nginx -t` says nothing but that it is right: no warning either."""
    tested = _run(proxy.command("-t", "-q"))
    assert (tested.returncode, tested.stderr) == (0, "")


@pytest.mark.parametrize("members", [True, False])
def test_a_staged_tree_can_be_tested_before_it_is_live(proxy: Proxy, members: bool) -> None:
    text = proxy.place("/run/floor/nginx/members.conf").read_text() if members else "\n"
    files = [{"path": file.path, "text": file.text} for file in proxy.state.files]
    found = staged(files, text)
    assert found["ok"] is members
    assert members or "floor_flagship" in found["output"]


def test_addresses_of_ipv6_are_what_nginx_takes() -> None:
    """O08. A member without brackets is `invalid port in upstream`."""
    proxy = Proxy(site([Copy("fd00::2", 8000), Copy("fd00::3", 8000, managed=False)]))
    try:
        proxy.write()
        assert "server [fd00::2]:8000 " in proxy.place("/run/floor/nginx/members.conf").read_text()
        assert "proxy_pass http://[fd00::3]:8000;" in proxy.files["/etc/floor/nginx/servers/flagship.conf"]
        tested = _run(proxy.command("-t", "-q"))
        assert (tested.returncode, tested.stderr) == (0, "")
    finally:
        proxy.stop()


def test_started_as_the_unit_does(proxy: Proxy) -> None:
    """The parent leaves when the ports are open; the master's title still holds the arguments that were planned."""
    launch = next(unit.launch for unit in proxy.state.units if unit.kind is Kind.PROXY)
    assert _command(proxy, "ExecStart") == [moved(word, proxy.root) for word in launch.argv]
    with (proxy.root / "stderr").open("wb") as log:  # nginx keeps it, as it keeps the journal
        subprocess.run(_command(proxy, "ExecStart"), stdout=log, stderr=log, check=True, timeout=10)
    pid_file = proxy.place("/run/floor/nginx/nginx.pid")
    proxy.until(pid_file.exists, "the pid file")
    pid = int(pid_file.read_text())
    try:
        assert ask(proxy.port(), CHAT, b"{}").status == 200
        title = Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0")
        assert title == "nginx: master process " + " ".join(_command(proxy, "ExecStart"))
        proxy.place("/run/floor/nginx/members.conf").write_text("upstream x { server 127.0.0.2:1; }")
        os.kill(pid, signal.SIGHUP)
        proxy.until(lambda: "host not found in upstream" in proxy.errors(), "an error of the daemon in the journal")
    finally:
        os.kill(pid, signal.SIGTERM)
    proxy.until(lambda: not pid_file.exists(), "nginx to end")


def test_after_a_power_cut_it_starts_again(proxy: Proxy) -> None:
    """nginx does not take a socket's path over that a killed one left behind; the unit clears it away before.

    What it cannot listen on is a failed start: the parent stays until its ports are open.
    """
    proxy.start()
    proxy.kill()
    left = proxy.place("/run/floor/nginx/empty.sock")
    assert left.exists()
    with socket.create_server(("0.0.0.0", proxy.port())):
        refused = _run(_command(proxy, "ExecStart"))
    assert refused.returncode == 1
    assert f"bind() to 0.0.0.0:{proxy.port()} failed (98: Address already in use)" in refused.stderr
    assert "empty.sock failed (98: Address already in use)" in refused.stderr
    for number in range(2):
        if "find" in _command(proxy, "ExecStartPre", number)[0]:
            assert _run(_command(proxy, "ExecStartPre", number)).returncode == 0
    assert not left.exists()
    assert proxy.place("/run/floor/nginx/members.conf").exists()
    proxy.start()
    assert ask(proxy.port(), CHAT, b"{}").status == 200


def test_reloaded_as_the_unit_does(proxy: Proxy) -> None:
    proxy.start()
    before = set(proxy.workers())
    for number in range(2):
        done = _run(_command(proxy, "ExecReload", number))
        assert done.returncode == 0, done.stderr
    proxy.until(lambda: proxy.workers() and not before & set(proxy.workers()), "new workers")
    assert ask(proxy.port(), CHAT, b"{}").status == 200


def test_a_reload_into_what_nginx_refuses_changes_nothing(proxy: Proxy) -> None:
    proxy.start()
    proxy.place("/run/floor/nginx/members.conf").write_text("upstream floor_flagship { server name.invalid:8000; }\n")
    tested = _run(_command(proxy, "ExecReload"))
    assert tested.returncode == 1
    assert "host not found in upstream" in tested.stderr
    assert ask(proxy.port(), CHAT, b"{}").status == 200


def test_stopped_as_the_unit_does_streams_may_end(proxy: Proxy, backend: Backend) -> None:
    unit = unitfile.read(proxy.state, "floor-proxy.service")
    assert (unit.one("Service", "KillSignal"), unit.one("Service", "KillMode")) == ("SIGQUIT", "mixed")
    proxy.start()
    os.kill(proxy.pid, signal.SIGQUIT)
    assert proxy._process is not None
    assert proxy._process.wait(timeout=5) == 0
    assert not proxy.place("/run/floor/nginx/empty.sock").exists()


def test_workers_may_open_what_they_are_promised(proxy: Proxy) -> None:
    """O11: no alert that worker_connections exceed the limit of open files, and the limit is really there."""
    proxy.start()
    limits = Path(f"/proc/{proxy.workers()[0]}/limits").read_text()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max open files")]
    assert int(line.split()[3]) == 20000
    assert proxy.errors() == ""
