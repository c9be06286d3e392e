"""Keys of this box: made once, kept in files of mode 0600 that only root reads. Never part of an argv or a log."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from floor.box import files, paths
from floor.errors import FloorError, UsageError

# They go into an HTTP header, an nginx string and a systemd environment file: nothing in them may mean anything there.
KEY = re.compile(r"[A-Za-z0-9_-]{20,200}")


def read(root: Path = paths.ROOT) -> dict[str, str] | None:
    """Return {"engine", "status"} as they lie on this box, None when one of them is not there yet."""
    found = {}
    for name, path in (("engine", paths.ENGINE_KEY), ("status", paths.STATUS_KEY)):
        try:
            key = paths.under(root, path).read_text().strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FloorError(f"{path}: cannot be read: {error.strerror}; the agent runs as root") from None
        if not KEY.fullmatch(key):
            raise FloorError(f"{path}: is not a key of 20 to 200 letters, digits, - or _; remove it and deploy again")
        found[name] = key
    return found


def fingerprint(keys: dict[str, str] | None) -> str | None:
    """Sixteen hex digits by which two boxes see whether they hold the same keys; None without keys."""
    if keys is None:
        return None
    return hashlib.sha256(f"{keys['engine']}\n{keys['status']}".encode()).hexdigest()[:16]


def put(engine: str, status: str, root: Path = paths.ROOT, owner: str = "root:root") -> None:
    """Write both keys and what is made from them: engine.env for the units, engine-key.conf for nginx.

    Raises UsageError for a key with other characters than letters, digits, `-` and `_`.
    """
    for name, key in (("engine", engine), ("status", status)):
        if not KEY.fullmatch(key):
            raise UsageError(f"{name} key: must be 20 to 200 letters, digits, - or _")
    for path, text in texts(engine, status).items():
        files.write(path, text, mode=0o600, owner=owner, root=root)
    paths.under(root, paths.SECRETS).chmod(0o700)


def texts(engine: str, status: str) -> dict[Path, str]:
    """Given both keys, return the text of every file that carries one."""
    return {
        paths.ENGINE_KEY: f"{engine}\n",
        paths.ENGINE_ENV: f"VLLM_API_KEY={engine}\n",
        paths.LLAMACPP_ENV: f"LLAMA_API_KEY={engine}\n",
        paths.ENGINE_KEY_CONF: f'proxy_set_header Authorization "Bearer {engine}";\n',
        paths.STATUS_KEY: f"{status}\n",
    }


def ensure(
    root: Path = paths.ROOT, make: Callable[[int], str] = secrets.token_urlsafe, owner: str = "root:root"
) -> dict[str, str]:
    """Return this box's keys, made now if there were none. What is made from them is written again where it differs."""
    keys = read(root) or {"engine": make(32), "status": make(32)}
    if not all(_holds(paths.under(root, path), text) for path, text in texts(**keys).items()):
        put(**keys, root=root, owner=owner)
    return keys


def complete(root: Path = paths.ROOT, owner: str = "root:root") -> None:
    """Write what is made from this box's keys and is not there yet: a newer floor makes more of them than an older one.

    What is there stays as it is, to its time of change. Without keys nothing is written.
    """
    keys = read(root)
    for path, text in texts(**keys).items() if keys else ():
        if not paths.under(root, path).exists():
            files.write(path, text, mode=0o600, owner=owner, root=root)


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text() == text and path.stat().st_mode & 0o777 == 0o600
