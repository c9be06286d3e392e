"""The members file: what nginx is told of who may be used now. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from floor import render

from .settings import Pool

_BLOCK = re.compile(r"^upstream (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_SERVER = re.compile(r"^ *server (\S+) weight=(\d+) max_fails=0;$", re.MULTILINE)


def text(pools: Sequence[Pool], members: Collection[str], empty: str) -> str:
    """Given the pools, the names of the backends that are in, and the path of the socket that answers 503, return the
    members file. Pools and backends stand in the order of the settings, so equal members give equal bytes."""
    return render.template(
        "nginx/members.conf.j2",
        empty=render.nginx(f"unix:{empty}"),
        pools=[
            {
                "model": pool.model,
                "upstream": pool.upstream,
                "keepalive": pool.keepalive,
                "idle": f"{pool.idle:g}",
                "members": [
                    {"name": backend.name, "server": backend.server, "weight": backend.weight}
                    for backend in pool.backends
                    if backend.name in members
                ],
            }
            for pool in pools
        ],
    )


def read(pools: Sequence[Pool], found: str) -> frozenset[str]:
    """Given the pools and the text of a members file, return the names of the backends that are in it.

    They are known by upstream and server: what nginx has. Anything else in the file is nobody's.
    """
    servers = {(block[1], server[1]) for block in _BLOCK.finditer(found) for server in _SERVER.finditer(block[2])}
    return frozenset(
        backend.name for pool in pools for backend in pool.backends if (pool.upstream, backend.server) in servers
    )
