"""The members file: what nginx is told of who may be used now. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from floor import render

from .settings import Backend, Pool

NOWHERE: Mapping[str, str] = MappingProxyType({})  # no model is away
_BLOCK = re.compile(r"^upstream (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_SERVER = re.compile(r"^ *server (\S+) weight=(\d+) max_fails=0;$", re.MULTILINE)


def text(
    pools: Sequence[Pool],
    members: Collection[str],
    empty: str,
    following: Collection[str] = (),
    away: Mapping[str, str] = NOWHERE,
) -> str:
    """Given the pools, the names of the backends that are in, the path of the socket that answers 503, the names of
    those that take the next engine key, and by model what is said while a switch keeps it away, return the members
    file. Pools and backends stand in the order of the settings, so equal members give equal bytes."""
    return render.template(
        "nginx/members.conf.j2",
        pools=[
            {
                "away": away.get(pool.model),
                "empty": render.nginx(f"unix:{_socket(empty, pool) if pool.model in away else empty}"),
                "model": pool.model,
                "upstream": pool.upstream,
                "keepalive": pool.keepalive,
                "idle": f"{pool.idle:g}",
                "members": [
                    {"name": backend.name, "server": _word(backend, following), "weight": backend.weight}
                    for backend in pool.backends
                    if backend.name in members
                ],
            }
            for pool in pools
        ],
    )


def _socket(empty: str, pool: Pool) -> str:
    """Where the answer of a model that is away comes from. By a digest: a socket's path holds 107 bytes."""
    return empty.removesuffix("empty.sock") + f"away-{hashlib.sha256(pool.upstream.encode()).hexdigest()[:12]}.sock"


def read(pools: Sequence[Pool], found: str) -> frozenset[str]:
    """Given the pools and the text of a members file, return the names of the backends that are in it.

    They are known by upstream and server: what nginx has. Anything else in the file is nobody's.
    """
    servers = _servers(found)
    return frozenset(
        backend.name
        for pool in pools
        for backend in pool.backends
        if {(pool.upstream, backend.server), (pool.upstream, backend.next)} & servers
    )


def followers(pools: Sequence[Pool], found: str) -> frozenset[str]:
    """Given the pools and the text of a members file, return the names of the backends that are in it as ones that take
    the next engine key."""
    servers = _servers(found)
    return frozenset(
        backend.name for pool in pools for backend in pool.backends if (pool.upstream, backend.next) in servers
    )


def _servers(found: str) -> set[tuple[str, str | None]]:
    return {(block[1], server[1]) for block in _BLOCK.finditer(found) for server in _SERVER.finditer(block[2])}


def _word(backend: Backend, following: Collection[str]) -> str:
    return backend.next if backend.next is not None and backend.name in following else backend.server
