"""Who holds a port: the process that a person has to stop, whichever of its children psutil names."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from floor.box import processes

# As nginx: a master opens the socket, workers inherit it, and so does what a worker starts.
SCRIPT = """
import os, socket, sys, time
held = socket.create_server(("127.0.0.1", 0))
for _ in range(3):
    if os.fork() == 0:
        os.fork()
        time.sleep(60)
print(held.getsockname()[1], flush=True)
time.sleep(60)
"""


@pytest.fixture
def master() -> Iterator[tuple[int, str]]:
    """A process with workers that share its port: its id and the port."""
    argv = [sys.executable, "-c", SCRIPT, "the master's words"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield process.pid, port
        os.killpg(process.pid, 9)


def test_a_port_is_held_by_the_master_of_those_who_share_it(master: tuple[int, str]) -> None:
    pid, port = master
    found = processes.listening()[port]
    assert found["pid"] == pid
    assert found["command"].endswith("the master's words")
    assert found["address"] == "127.0.0.1"


def test_a_port_of_one_process_is_its_own() -> None:
    """Its parent, which does not hold it, is not blamed."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        assert processes.listening()[str(held.getsockname()[1])]["pid"] == os.getpid()


def test_a_port_that_nobody_holds_is_not_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = str(held.getsockname()[1])
    assert port not in processes.listening()


def test_a_child_that_is_gone_when_it_is_looked_at_is_not_blamed(
    master: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """psutil may name one that held the socket between its fork and its exec."""
    pid, port = master
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    look = psutil.net_connections
    answers = [[one._replace(pid=gone.pid) if str(one.laddr.port) == port else one for one in look("tcp") if one.laddr]]
    monkeypatch.setattr(psutil, "net_connections", lambda kind: answers.pop() if answers else look(kind))
    assert processes.listening()[port]["pid"] == pid
    assert not answers
