"""Each managed box of a floor.yaml gets the transport that its destination asks for."""

from __future__ import annotations

import os

import pytest

from floor.apply.exchange import AGENT, SUDO
from floor.apply.transport import LocalTransport, SshTransport, connect, open_to
from floor.config import parse

CONFIG = """
boxes:
  spark-a: {host: 192.0.2.11, ssh: ops@spark-a}
  spark-b: {host: 192.0.2.12}
  mac: {host: 192.0.2.20, managed: false}
models:
  m: {engine: vllm, source: /m, runtime: {kind: native, command: /opt/vllm/bin/vllm}, replicas: [spark-a, spark-b, mac]}
proxy: {boxes: [spark-a]}
"""


def test_only_managed_boxes_are_reached_by_ssh_under_their_destination() -> None:
    found = connect(parse(CONFIG))
    assert {name: (type(one), one.box) for name, one in found.items()} == {
        "spark-a": (SshTransport, "spark-a"),
        "spark-b": (SshTransport, "spark-b"),
    }
    assert [one.destination for one in found.values() if isinstance(one, SshTransport)] == ["ops@spark-a", "spark-b"]


def test_local_means_this_machine() -> None:
    assert isinstance(open_to("here", "local"), LocalTransport)


@pytest.mark.parametrize(("user", "expected"), [(0, AGENT), (1000, SUDO)])
def test_on_this_machine_root_needs_no_sudo(
    monkeypatch: pytest.MonkeyPatch, user: int, expected: tuple[str, ...]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert LocalTransport("here").argv() == list(expected)
