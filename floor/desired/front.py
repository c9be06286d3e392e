"""What stands behind the proxy's port of a model: backends, the headers they want, and detours for the odd ones.

nginx fixes a request's headers before it chooses a member of an upstream, so all members get the same. A backend that
must not see the engines' key, or cannot stand a header, is reached through a small server on a unix socket instead.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from floor.box import paths
from floor.config import hosts
from floor.config.model import Config, ResolvedCopy
from floor.desired.state import MODES, BoxFacts
from floor.engines import dialect


@dataclass(frozen=True)
class Headers:
    """What a backend is sent: the engines' key or no key at all, this Host, and none of `drop`. `keeps`: whether its
    connections serve one request after another."""

    key: bool
    host: str = "localhost"
    drop: tuple[str, ...] = ()
    keeps: bool = True

    @property
    def connection(self) -> str:
        """The variable of http/upstream.conf that says what becomes of the connection."""
        return "$floor_connection" if self.keeps else "$floor_once"


@dataclass(frozen=True)
class Backend:
    """A copy, or the head of a group, that nginx can reach, in `modes`; `parts` are all of a group.

    `address` is HOST:PORT, `server` the word for it in the members file. `next` is the word for it where the engine key
    is being replaced and it takes the next one already.
    """

    copy: ResolvedCopy
    ip: str
    address: str
    headers: Headers
    server: str
    next: str | None = None
    modes: tuple[str, ...] = MODES
    parts: tuple[ResolvedCopy, ...] = ()

    @property
    def socket(self) -> str | None:
        """Path of the detour's socket, None for a backend that is reached directly."""
        return self.server.removeprefix("unix:") if self.server.startswith("unix:") else None


@dataclass(frozen=True)
class Front:
    """One model as a proxy sees it; `headers` are those of the members that are reached directly."""

    model: str
    upstream: str
    listen: int
    request_time: float
    headers: Headers
    backends: tuple[Backend, ...]


def fronts(config: Config, boxes: Mapping[str, BoxFacts]) -> list[Front]:
    """Given the config and what is known of its boxes, return every model with its backends of both modes, in the
    file's order.

    Copies whose box has no known address are left out: one name that does not resolve keeps nginx from starting.
    """
    return [_front(config, model, boxes) for model in config.models if config.backends(model, None)]


def upstream(model: str) -> str:
    """Given a model's name, return that of its upstream; the config refuses two models that would share one."""
    return "floor_" + re.sub(r"[^A-Za-z0-9]", "_", model)


def _front(config: Config, model: str, boxes: Mapping[str, BoxFacts]) -> Front:
    copies = config.backends(model, None)
    common = _common([_headers(config, copy) for copy in copies])
    answering = {mode: config.backends(model, mode) for mode in MODES}
    modes = {copy.backend: tuple(mode for mode in MODES if copy in answering[mode]) for copy in copies}
    parts = tuple(config.parts(model))
    backends = []
    rotating = any(facts.rotating for facts in boxes.values())
    for copy in copies:
        ip = boxes[copy.box].address if copy.box in boxes else None
        if ip is not None:
            address, headers = hosts.netloc(ip, copy.port), _headers(config, copy)
            server = address if headers == common else f"unix:{_socket(copy.backend)}"
            after = f"unix:{_socket(copy.backend, 'next')}" if rotating and copy.key else None
            of = parts if copy in parts else ()
            backends.append(Backend(copy, ip, address, headers, server, after, modes[copy.backend], of))
    return Front(
        model, upstream(model), config.listen(model), config.models[model].request_time, common, tuple(backends)
    )


def _headers(config: Config, copy: ResolvedCopy) -> Headers:
    wanted = dialect.headers(copy.engine)
    host = config.boxes[copy.box].host
    named = not copy.managed and hosts.literal(host) is None
    # Someone else's server may stand behind a proxy that goes by the name it was asked for.
    return Headers(copy.key, hosts.netloc(host, copy.port) if named else wanted.host, wanted.drop, wanted.keeps)


def _common(found: Sequence[Headers]) -> Headers:
    """The headers of most backends; of those with the key where as many have it: floor's own copies go directly."""
    count = Counter(found)
    return max(count, key=lambda headers: (count[headers], headers.key))


def _socket(backend: str, kind: str = "detour") -> str:
    # By a digest: a socket's path holds 107 bytes, the two names may be 80.
    return str(paths.MEMBERS.parent / f"{kind}-{hashlib.sha256(backend.encode()).hexdigest()[:12]}.sock")
