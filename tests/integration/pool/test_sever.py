"""Connections are really ended, seen from both ends of one."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from floor.errors import FloorError
from floor.pool.sever import count, sever

ADDRESS = "127.0.0.9"


def test_connections_to_a_backend_are_ended_and_no_others() -> None:
    with socket.create_server((ADDRESS, 0)) as server, socket.create_server((ADDRESS, 0)) as other:
        port = server.getsockname()[1]
        lost = [socket.create_connection((ADDRESS, port)) for _ in range(3)]
        kept = socket.create_connection(other.getsockname())
        assert asyncio.run(count(ADDRESS, port)) == 3
        if os.geteuid() != 0:  # as floor-pool without CAP_NET_ADMIN
            with pytest.raises(
                FloorError, match=r"3 connections to .* cannot be ended; floor-pool needs CAP_NET_ADMIN"
            ):
                asyncio.run(sever(ADDRESS, port))
        else:
            done = asyncio.run(sever(ADDRESS, port))
            assert (done.before, done.after) == (3, 0)
            for way in lost:
                with pytest.raises(ConnectionAbortedError):
                    way.recv(1)
            kept.sendall(b"x")
        for way in (*lost, kept):
            way.close()


def test_without_connections_there_is_nothing_to_do() -> None:
    done = asyncio.run(sever(ADDRESS, 1))
    assert (done.before, done.after) == (0, 0)


def test_a_machine_without_ss_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FloorError, match=r"`ss .*`: No such file or directory; install iproute2 on this box"):
        asyncio.run(sever(ADDRESS, 1))


def test_what_ss_does_not_like_is_said() -> None:
    with pytest.raises(FloorError, match=r"`ss .* dst nonsense\.invalid dport = :1`: "):
        asyncio.run(count("nonsense.invalid", 1))
