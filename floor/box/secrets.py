"""Keys of this box: made once, kept in files of mode 0600 that only root reads. Never part of an argv or a log.

A keyring is {"engine", "status", "next"}: `next` holds, while one of the two is replaced, the key that follows it.
Client keys are kept apart, see `floor.box.clients`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.errors import FloorError, UsageError

# They go into an HTTP header, an nginx string and a systemd environment file: nothing in them may mean anything there.
KEY = re.compile(r"[A-Za-z0-9_-]{20,200}")
KINDS = ("engine", "status")
PLACES = {"engine": paths.ENGINE_KEY, "status": paths.STATUS_KEY}
NEXT = {"engine": paths.ENGINE_NEXT, "status": paths.STATUS_NEXT}
Keyring = dict[str, Any]
Make = Callable[[int], str]


def read(root: Path = paths.ROOT) -> Keyring | None:
    """Return the keyring as it lies on this box, None when one of its two keys is not there yet."""
    found: Keyring = {name: key for name, path in PLACES.items() if (key := _key(path, root))}
    if len(found) < len(PLACES):
        return None
    return {**found, "next": {name: key for name, path in NEXT.items() if (key := _key(path, root))}}


def accepted(kind: str, root: Path = paths.ROOT) -> list[str]:
    """Given `engine` or `status`, return the keys of that kind that may be in use now: the present one first."""
    return [key for path in (PLACES[kind], NEXT[kind]) if (key := _key(path, root))]


def starting(root: Path = paths.ROOT) -> str | None:
    """Return the engine key that an engine has which starts now; None where there is none."""
    return next(iter(reversed(accepted("engine", root))), None)


def digest(key: str) -> str:
    """Sixteen hex digits by which a key is known without being told."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def fingerprint(keys: Keyring | None) -> str | None:
    """Sixteen hex digits by which two boxes see whether they hold the same keyring; None without keys."""
    if keys is None:
        return None
    following = keys.get("next") or {}
    parts = [keys["engine"], keys["status"], *(following.get(kind, "") for kind in KINDS if following)]
    return digest("\n".join(parts))


def told(root: Path = paths.ROOT) -> dict[str, Any] | None:
    """What others may know of this box's keyring: {"engine", "status", "next": {…}} as digests, and whether every file
    that is made from it is there (`complete`). None without keys."""
    keys = read(root)
    if keys is None:
        return None
    following = {kind: digest(key) for kind, key in keys["next"].items()}
    whole = all(_holds(path, text, root) for path, text in texts(**keys).items())
    return {**{kind: digest(keys[kind]) for kind in KINDS}, "next": following, "complete": whole}


def put(
    engine: str,
    status: str,
    root: Path = paths.ROOT,
    owner: str = "root:root",
    following: Mapping[str, str] | None = None,
) -> None:
    """Write the keys and what is made from them; a file that is right already is left as it is: its age tells which key
    an engine was started with. Raises UsageError for a key with other characters than letters, digits, `-` and `_`."""
    following = following or {}
    for name, key in (("engine", engine), ("status", status), *following.items()):
        if name not in KINDS or not KEY.fullmatch(key):
            raise UsageError(f"{name} key: must be 20 to 200 letters, digits, - or _")
    # The key that follows first, and gone last: a power cut in between loses no key that an engine may have.
    every = texts(engine, status, following).items()
    for path, text in sorted(every, key=lambda one: (one[1] is None, one[0] not in NEXT.values())):
        place(path, text, root, owner)
    paths.under(root, paths.SECRETS).chmod(0o700)


def place(path: Path, text: str | None, root: Path, owner: str) -> None:
    """Bring one file of the secrets to `text`, to nothing where that is None. One that is right is not touched."""
    if _holds(path, text, root):
        return
    if text is None:
        paths.under(root, path).unlink(missing_ok=True)
    else:
        files.write(path, text, mode=0o600, owner=owner, root=root)


def texts(engine: str, status: str, next: Mapping[str, str] | None = None) -> dict[Path, str | None]:  # noqa: A002
    """Given the keyring, return the text of every file that carries one of its keys, None for one that must not be."""
    following = next or {}
    starts = following.get("engine", engine)
    return {
        paths.ENGINE_KEY: f"{engine}\n",
        paths.ENGINE_ENV: f"VLLM_API_KEY={starts}\n",
        paths.LLAMACPP_ENV: f"LLAMA_API_KEY={starts}\n",
        paths.KEYS_ENV: f"FLOOR_KEYS={digest(starts)}\n",
        paths.ENGINE_KEY_CONF: _header(engine),
        paths.STATUS_KEY: f"{status}\n",
        paths.ENGINE_NEXT: f"{following['engine']}\n" if "engine" in following else None,
        paths.ENGINE_NEXT_CONF: _header(starts),
        paths.STATUS_NEXT: f"{following['status']}\n" if "status" in following else None,
    }


def ensure(root: Path = paths.ROOT, make: Make = secrets.token_urlsafe, owner: str = "root:root") -> Keyring:
    """Return this box's keyring, made now if there was none. What is made from it is written again where it differs."""
    keys = read(root) or {"engine": make(32), "status": make(32), "next": {}}
    put(keys["engine"], keys["status"], root, owner, keys["next"])
    return keys


def complete(root: Path = paths.ROOT, owner: str = "root:root") -> None:
    """Write what is made from this box's keys and is not there yet: a newer floor makes more of them than an older one.

    What is right stays as it is, to its time of change. Without keys nothing is written.
    """
    if keys := read(root):
        put(keys["engine"], keys["status"], root, owner, keys["next"])


def begin(kind: str, root: Path = paths.ROOT, make: Make = secrets.token_urlsafe, owner: str = "root:root") -> Keyring:
    """Make the key that is to follow the present one of `kind`; one that was made already stays. Return the keyring.

    Raises UsageError for another kind.
    """
    if kind not in KINDS:
        raise UsageError(f"key {kind!r}: must be engine or status")
    keys = ensure(root, make, owner)
    keys["next"].setdefault(kind, make(32))
    put(keys["engine"], keys["status"], root, owner, keys["next"])
    return keys


def promote(root: Path = paths.ROOT, owner: str = "root:root") -> Keyring:
    """The keys that follow become the present ones; where none follows nothing changes. Return the keyring.

    Raises FloorError where this box has no keys.
    """
    keys = read(root)
    if keys is None:
        raise FloorError("this box has no keys; run floor deploy")
    keys = {**keys, **keys["next"], "next": {}}
    put(keys["engine"], keys["status"], root, owner)
    return keys


def _key(path: Path, root: Path) -> str | None:
    try:
        key = paths.under(root, path).read_text().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FloorError(f"{path}: cannot be read: {error.strerror}; the agent runs as root") from None
    if not KEY.fullmatch(key):
        raise FloorError(f"{path}: is not a key of 20 to 200 letters, digits, - or _; remove it and deploy again")
    return key


def _header(key: str) -> str:
    return f'proxy_set_header Authorization "Bearer {key}";\n'


def _holds(path: Path, text: str | None, root: Path) -> bool:
    there = paths.under(root, path)
    if text is None:
        return not there.exists()
    return there.is_file() and there.read_text() == text and there.stat().st_mode & 0o777 == 0o600
