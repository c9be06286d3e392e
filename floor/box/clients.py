"""Client keys of this proxy box: who may use the models, by name. In one file of mode 0600, and in one for nginx.

Each client has one key, two while the old one is still valid beside the new; the newest stands first. An old one that
ends by itself stands as KEY@TIME, in unix seconds: nginx compares it with its clock at each request.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from floor.box import paths
from floor.box.secrets import KEY, digest, place
from floor.errors import FloorError, UsageError

ENTRY = re.compile(rf"{KEY.pattern}(@[0-9]{{10}})?")
OWN = "floor"  # by which `floor verify` asks; it has a key wherever others have
Clients = dict[str, list[str]]
Make = Callable[[int], str]


def read(root: Path = paths.ROOT) -> Clients:
    """Return every client's keys, the newest first; nothing where no client has one. Raises FloorError for a file that
    somebody broke."""
    try:
        text = paths.under(root, paths.CLIENTS).read_text()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FloorError(f"{paths.CLIENTS}: cannot be read: {error.strerror}; the agent runs as root") from None
    try:
        found = json.loads(text)
        _check(found)
    except (ValueError, AttributeError, TypeError, UsageError):
        raise FloorError(f"{paths.CLIENTS}: holds no client keys; remove it and deploy again") from None
    return {name: list(keys) for name, keys in found.items()}


def told(root: Path = paths.ROOT, now: float | None = None) -> dict[str, list[str]]:
    """What others may know of them: the digests of each client's keys, without those that have ended by `now`."""
    return {name: [digest(key) for key in _valid(keys, now)] for name, keys in read(root).items()}


def put(clients: Mapping[str, list[str]], root: Path = paths.ROOT, owner: str = "root:root") -> None:
    """Keep just these clients and keys. Raises UsageError for what is no key."""
    _check(clients)
    found = {name: list(keys) for name, keys in sorted(clients.items())}
    for path, text in texts(found).items():
        place(path, text, root, owner)


def named(
    names: Iterable[str],
    root: Path = paths.ROOT,
    make: Make = secrets.token_urlsafe,
    owner: str = "root:root",
) -> Clients:
    """Have just these clients, and floor's own with them: new ones get a key, the others keep theirs or lose it."""
    wanted = list(dict.fromkeys(names))
    before = read(root)
    clients = {name: before.get(name) or [make(32)] for name in ([*wanted, OWN] if wanted else [])}
    put(clients, root, owner)
    return clients


def rotate(
    name: str,
    root: Path = paths.ROOT,
    make: Make = secrets.token_urlsafe,
    owner: str = "root:root",
    until: int | None = None,
) -> bool:
    """Give a client a new key beside the one it has, which ends at `until` (unix seconds; None: when it is retired).
    Return False where it has two that are valid already. Raises UsageError for an unknown client."""
    clients = _known(name, root)
    if len(_valid(clients[name])) > 1:
        return False
    old = clients[name][0] if until is None else f"{clients[name][0]}@{until:010d}"
    put({**clients, name: [make(32), old]}, root, owner)
    return True


def before(moment: str) -> str:
    """Given a time of ten digits, return a pattern for the times before it, written with as many.

    A number is less where it has the same digits up to one that is less.
    """
    cuts = [index for index, digit in enumerate(moment) if digit != "0"]
    less = [f"{moment[:cut]}[0-{int(moment[cut]) - 1}][0-9]{{{len(moment) - cut - 1}}}" for cut in cuts]
    return f"(?:{'|'.join(less)})"


def retire(name: str, root: Path = paths.ROOT, owner: str = "root:root") -> bool:
    """Leave a client its newest key alone; return False where it has no other. Raises UsageError for an unknown one."""
    clients = _known(name, root)
    if len(clients[name]) < 2:
        return False
    put({**clients, name: clients[name][:1]}, root, owner)
    return True


def texts(clients: Mapping[str, list[str]]) -> dict[Path, str | None]:
    """Given all clients, return the text of the files that carry their keys, None where there is no client."""
    if not clients:
        return {paths.CLIENTS_CONF: None, paths.CLIENTS: None}
    # What nginx reads first: a power cut in between then looks as if nothing was done, and is done again.
    return {paths.CLIENTS_CONF: _maps(clients), paths.CLIENTS: json.dumps(clients, indent=1) + "\n"}


def _maps(clients: Mapping[str, list[str]]) -> str:
    """nginx compares plain texts of a map without regard to case, and patterns with: a key is a pattern."""
    pairs = [(name, key) for name, keys in clients.items() for key in keys]
    by_header = [f'    "~^{_time(key)} [Bb][Ee][Aa][Rr][Ee][Rr] +{_bare(key)}$" {name};' for name, key in pairs]
    by_other = [f'    "~^{_time(key)} {_bare(key)}$" {name};' for name, key in pairs]
    return "\n".join(
        [
            'map "$msec $http_x_api_key" $floor_client_by_x {',
            '    default "";',
            *by_other,
            "}",
            'map "$msec $http_authorization" $floor_client {',
            "    default $floor_client_by_x;",
            *by_header,
            "}",
            "",
        ]
    )


def _valid(entries: Iterable[str], now: float | None = None) -> list[str]:
    """Those of a client's keys that have not ended by themselves; `now` in unix seconds."""
    moment = time.time() if now is None else now
    return [entry for entry in entries if not (until := entry.partition("@")[2]) or int(until) > moment]


def _bare(entry: str) -> str:
    return entry.partition("@")[0]


def _time(entry: str) -> str:
    """A pattern for nginx's time (seconds, a dot, thousandths) in which a key is valid."""
    until = entry.partition("@")[2]
    return f"{before(until) if until else '[0-9]+'}\\.[0-9]+"


def _known(name: str, root: Path) -> Clients:
    clients = read(root)
    if name not in clients:
        raise UsageError(f"{name}: no client of this name has a key here; add it to proxy.clients and run floor deploy")
    return clients


def _check(clients: Mapping[str, list[str]]) -> None:
    for name, keys in clients.items():
        if not keys or not all(isinstance(key, str) and ENTRY.fullmatch(key) for key in keys):
            raise UsageError(f"client {name}: must have keys of 20 to 200 letters, digits, - or _")
