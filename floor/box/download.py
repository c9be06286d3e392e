"""One file over HTTP, to the last byte: goes on where a former try stopped, and believes nothing but the hash."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from floor.box.hub import UnreachableError
from floor.box.manifest import Entry
from floor.errors import FloorError

if TYPE_CHECKING:
    import httpx

BLOCK = 1024 * 1024  # bytes read at once
SYNC = 64 * 1024 * 1024  # bytes after which what was written goes to the disk, and out of the page cache
LONGEST_WAIT = 60.0  # seconds that a server may ask to be left alone


class DamagedError(FloorError):
    """What came is not what the file must be."""


@dataclass(frozen=True)
class Patience:
    """`timeout`: seconds without a byte that end a try; `tries`: those in a row that brought none; `wait`: seconds
    before the second of them, twice as long before each further one."""

    timeout: float = 30.0
    tries: int = 6
    wait: float = 1.0


@dataclass(frozen=True)
class Remote:
    """Where a file is, and what a request for it carries. `refuse` raises what the status of an answer means."""

    url: str
    headers: Mapping[str, str]
    refuse: Callable[[int, Any], None]


class Hash:
    """The hash of a file as it grows: sha256 for the manifest, and git's id of a blob where only that is known."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.size = entry, 0
        self._sha256 = hashlib.sha256()
        # git hashes `blob SIZE\0` before the content
        self._git = hashlib.sha1(f"blob {entry.size}\0".encode(), usedforsecurity=False) if entry.git else None

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self._sha256.update(data)
        if self._git is not None and self.entry.sha256 is None:
            self._git.update(data)

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    @property
    def right(self) -> bool:
        """Whether this is the content that the file must have."""
        if self.size != self.entry.size:
            return False
        if self.entry.sha256 is not None:
            return self.sha256 == self.entry.sha256
        return self._git is None or self._git.hexdigest() == self.entry.git


def hashed(place: Path, entry: Entry, tick: Callable[[int], None] = lambda _: None) -> Hash:
    """Given a file and what it must be, return its hash; `tick` is told the bytes as they are read. Raises OSError."""
    found = Hash(entry)
    with place.open("rb") as file:
        while block := file.read(BLOCK):
            found.add(block)
            tick(len(block))
        _drop(file.fileno())
    return found


def download(
    client: httpx.Client,
    remote: Remote,
    entry: Entry,
    place: Path,
    tick: Callable[[int], None],
    *,
    patience: Patience,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Bring a file to `place`, going on behind what lies there, and return its sha256.

    `tick` is told each step in bytes, below zero where what was there has to be thrown away. Raises DamagedError when
    the content is wrong a second time, from its beginning; UnreachableError when no byte comes any more; whatever
    `refuse` raises; FloorError for a disk that is full.
    """
    for _ in range(2):  # what is wrong may be the beginning, which an earlier try left
        found = _complete(client, remote, entry, place, tick, patience, sleep)
        if found.right:
            return found.sha256
        tick(-found.size)
        place.unlink()
    raise DamagedError(
        f"{entry.path} arrives damaged: {found.size} bytes with sha256 {found.sha256}, "
        f"must be {entry.size} with {entry.sha256 or f'git id {entry.git}'}"
    )


def _complete(
    client: httpx.Client,
    remote: Remote,
    entry: Entry,
    place: Path,
    tick: Callable[[int], None],
    patience: Patience,
    sleep: Callable[[float], None],
) -> Hash:
    """Ask until the file has its size; what is there already is read once more, for its hash."""
    try:
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with os.fdopen(handle, "r+b") as file:
            found = _resumed(file, entry, tick)
            failed, why = 0, ""
            while found.size < entry.size:
                before = found.size
                try:
                    found, why, wait = _try(client, remote, file, found, tick, patience)
                except UnreachableError as error:
                    why, wait = str(error), 0.0
                failed = 0 if found.size > before else failed + 1
                if failed >= patience.tries:
                    raise UnreachableError(f"{entry.path}: {why} ({failed} tries)")
                if found.size < entry.size:
                    sleep(wait or min(LONGEST_WAIT, patience.wait * 2 ** max(0, failed - 1)) * (failed > 0))
            os.fsync(file.fileno())
            _drop(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FloorError(f"{place.parent}: the disk is full; make room, what has come is kept") from None
        raise FloorError(f"{place}: cannot be written ({error.strerror})") from None
    return found


def _resumed(file: BinaryIO, entry: Entry, tick: Callable[[int], None]) -> Hash:
    """The hash of what lies there. More than the file can have is nothing to go on from."""
    if os.fstat(file.fileno()).st_size > entry.size:
        file.truncate(0)
    found = Hash(entry)
    while block := file.read(BLOCK):
        found.add(block)
        tick(len(block))
    return found


def _try(
    client: httpx.Client,
    remote: Remote,
    file: BinaryIO,
    found: Hash,
    tick: Callable[[int], None],
    patience: Patience,
) -> tuple[Hash, str, float]:
    """Ask once, for all that is missing. Return the hash, why no more came, and how long to leave it alone."""
    import httpx

    asked = {**remote.headers, "Accept-Encoding": "identity"}
    if found.size:
        asked["Range"] = f"bytes={found.size}-"
    timeout = httpx.Timeout(patience.timeout)
    try:
        with client.stream("GET", remote.url, headers=asked, timeout=timeout, follow_redirects=True) as answer:
            if answer.status_code in (429, 503):
                return found, f"the server answers {answer.status_code}", _seconds(answer.headers.get("Retry-After"))
            if answer.history and answer.status_code in (401, 403):
                return found, "the address that the hub gave has expired", 0.0
            remote.refuse(answer.status_code, answer.headers)
            if found.size and not _continues(answer, found.size):
                tick(-found.size)
                file.seek(0)
                file.truncate()
                found = Hash(found.entry)
            unsynced = 0
            for block in answer.iter_raw():
                kept = block[: found.entry.size - found.size]
                file.write(kept)
                found.add(kept)
                tick(len(kept))
                unsynced += len(kept)
                if unsynced >= SYNC:
                    unsynced = _flush(file)
                if len(kept) < len(block):
                    return found, "more came than the file has", 0.0
    except httpx.HTTPError as error:
        return found, _words(error, patience), 0.0
    finally:
        file.flush()
    return found, "the server ended it before its end", 0.0


def _continues(answer: httpx.Response, start: int) -> bool:
    """Whether what comes goes on where the file ends: a server may ignore ranges, or send another one."""
    return answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")


def _seconds(text: str | None) -> float:
    with suppress(TypeError, ValueError):
        return min(LONGEST_WAIT, max(0.0, float(text or 0)))
    return 0.0


def _words(error: httpx.HTTPError, patience: Patience) -> str:
    import httpx

    if isinstance(error, httpx.ReadTimeout):
        return f"nothing came for {patience.timeout:g} s"
    return f"{str(error) or type(error).__name__}"


def _flush(file: BinaryIO) -> int:
    file.flush()
    os.fdatasync(file.fileno())
    _drop(file.fileno())
    return 0


def _drop(handle: int) -> None:
    """Weights that only pass through leave no room in the page cache to an engine that shares this memory."""
    with suppress(OSError):
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
