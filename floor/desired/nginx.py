"""The files of the proxy's nginx."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from floor.box import paths
from floor.config.model import Config
from floor.desired import answers, routes
from floor.desired.front import Backend, Front
from floor.desired.state import BoxFacts, File
from floor.render import template

CONNECTIONS = 8192
# At least two for each connection, and no more than boxes in containers may have.
DESCRIPTORS = 20000
TRIES = 3
JOURNAL = "/run/systemd/journal/dev-log"
TEMPORARY = paths.CACHE / "nginx"


def shutdown_time(fronts: Sequence[Front]) -> float:
    """Given the models as proxies see them, return the seconds in which nginx ends: those of the longest request, and
    10 more."""
    return max((front.request_time for front in fronts), default=0.0) + 10


def files(config: Config, fronts: Sequence[Front], facts: BoxFacts) -> list[File]:
    """Given the config, its models as proxies see them and the facts of a proxy box, return its nginx files."""
    connect = config.proxy.connect_timeout
    clients, tls = bool(config.proxy.clients), config.proxy.tls
    values: dict[str, object] = {
        "members": paths.MEMBERS,
        "user": facts.nginx_user,
        "pid": paths.NGINX_PID,
        "connections": CONNECTIONS,
        "descriptors": DESCRIPTORS,
        "shutdown": duration(shutdown_time(fronts)),
        "max_body": config.proxy.max_body,
        "temporary": TEMPORARY,
        "connect": duration(connect),
        "tries": TRIES,
        "next": duration(_passing_on(connect, fronts)),
        "journal": JOURNAL,
        "health": routes.HEALTH,
        "asked_in_the_clear": tls is not None and config.proxy.address is not None,
        "retry_after": answers.RETRY_AFTER,
        "empty": paths.EMPTY_SOCKET,
        "unavailable": answers.unavailable(),
        "errors": answers.errors(config.proxy.max_body, clients=clients, tls=tls is not None),
        "clients": clients,
        "clients_file": paths.CLIENTS_CONF,
        "tls": tls,
        "page_allow": config.metrics.page,
        "page_paths": routes.PAGE,
        "page_socket": paths.METRICS_SOCKET,
    }
    shared = ["nginx.conf", "process.conf", "events.conf"]
    shared += [f"http/{name}.conf" for name in ("log", "requests", "unavailable", "upstream")]
    shared += ["server/errors.conf", "location/get.conf", "location/post.conf"]
    shared += [*(["http/clients.conf"] if clients else []), *(["http/tls.conf"] if tls else [])]
    shared += ["server/page.conf"] if config.metrics.page else []
    made = [_file(name, template(f"nginx/{name}.j2", **values)) for name in shared]
    how = {"ipv6": facts.ipv6, "tls": tls is not None, "page": bool(config.metrics.page)}
    return made + [_file(f"servers/{front.model}.conf", server(front, **how)) for front in fronts]


def server(front: Front, *, ipv6: bool, tls: bool = False, page: bool = False) -> str:
    """Given a model as proxies see it, whether the box has IPv6, whether its port speaks https and whether it shows the
    status page, return its file."""
    listen = [str(front.listen), *([f"[::]:{front.listen}"] if ipv6 else [])]
    return template(
        "nginx/servers/model.conf.j2",
        model=front.model,
        upstream=front.upstream,
        listen=listen,
        tls=tls,
        page=page,
        pool={"headers": front.headers, "key_file": paths.ENGINE_KEY_CONF},
        read=duration(front.request_time),
        health=routes.HEALTH,
        healthy=answers.healthy(),
        routes=routes.ROUTES,
        patterns=routes.PATTERNS,
        detours=[detour for backend in front.backends for detour in _detours(backend)],
    )


def duration(seconds: float) -> str:
    """Given seconds, return them as nginx writes times: whole seconds, or milliseconds rounded up."""
    return f"{seconds:.0f}s" if seconds == int(seconds) else f"{math.ceil(round(seconds * 1000, 6))}ms"


def _passing_on(connect: float, fronts: Sequence[Front]) -> float:
    """How long a request may be passed on: for as many tries as there are, and not after any read timeout."""
    return min([TRIES * connect, *(front.request_time for front in fronts)])


def _detours(backend: Backend) -> list[Mapping[str, object]]:
    """The ways of its own that a backend has: for headers of its own, and for the key that follows."""
    shared = {"backend": backend.copy.backend, "address": backend.address, "headers": backend.headers}
    found: list[Mapping[str, object]] = []
    if backend.socket:
        found.append({**shared, "socket": backend.socket, "key_file": paths.ENGINE_KEY_CONF})
    if backend.next:
        found.append({**shared, "socket": backend.next.removeprefix("unix:"), "key_file": paths.ENGINE_NEXT_CONF})
    return found


def _file(name: str, text: str) -> File:
    return File(str(paths.NGINX / name), text)
