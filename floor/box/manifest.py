"""What a folder of weights holds: a hash for each file, kept in the folder and compared between boxes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from floor.errors import FloorError

NAME = ".floor-manifest.json"
INCOMPLETE = ".floor-incomplete"  # lies in a folder while files of it are being put right
RESERVED = (NAME, INCOMPLETE)
LONGEST = 1024  # characters of a path


@dataclass(frozen=True)
class Entry:
    """One file: its path in the folder, its size in bytes, and what its content must be.

    `sha256` is of the content; `git` is git's own id of a blob, which a hub tells of small files instead.
    """

    path: str
    size: int
    sha256: str | None = None
    git: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "size": self.size, "sha256": self.sha256, "git": self.git}


@dataclass(frozen=True)
class Origin:
    """Where the files come from: a repository at one commit, and which of its files (none: all)."""

    repo: str
    revision: str
    include: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.repo} at {self.revision[:12]}"

    def as_json(self) -> dict[str, Any]:
        return {"repo": self.repo, "revision": self.revision, "include": list(self.include)}


@dataclass(frozen=True)
class Manifest:
    """The files of a folder, each with its sha256. `times` are their mtimes in nanoseconds when they were hashed."""

    origin: Origin
    files: tuple[Entry, ...]
    times: Mapping[str, int]

    @property
    def digest(self) -> str:
        """One hash for all: equal on two boxes exactly where paths, sizes and contents are."""
        lines = sorted(f"{entry.sha256} {entry.size} {entry.path}\n" for entry in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files)

    def as_json(self) -> dict[str, Any]:
        rows = [{**entry.as_json(), "mtime": self.times.get(entry.path)} for entry in self.files]
        return {**self.origin.as_json(), "digest": self.digest, "files": rows}


def origin(values: Mapping[str, Any]) -> Origin:
    """Given a mapping with repo, revision and include, return it typed. Raises FloorError for anything else."""
    repo, revision, include = values.get("repo"), values.get("revision"), values.get("include") or []
    if not isinstance(repo, str) or not isinstance(revision, str) or not isinstance(include, list):
        raise FloorError(f"no origin of weights: {dict(values)!r:.200}")
    return Origin(repo, revision, tuple(str(one) for one in include))


def entries(rows: Iterable[Any]) -> tuple[Entry, ...]:
    """Given rows of JSON, return the files. Raises FloorError for a path that leaves the folder, or a row that is none.

    A hub and another box are both strangers here: what they name is written as root.
    """
    found: dict[str, Entry] = {}
    for row in rows:
        try:
            entry = Entry(safe(row["path"]), int(row["size"]), row.get("sha256"), row.get("git"))
        except (KeyError, TypeError, ValueError):
            raise FloorError(f"no file of a manifest: {row!r:.200}") from None
        if entry.size < 0 or entry.path in found:
            raise FloorError(f"no file of a manifest: {row!r:.200}")
        found[entry.path] = entry
    return tuple(found[path] for path in sorted(found))


def safe(path: object) -> str:
    """Given the path of a file in a folder, return it. Raises FloorError where it could lie anywhere else."""
    parts = path.split("/") if isinstance(path, str) else []
    bad = not parts or any(part in ("", ".", "..") for part in parts) or parts[0] in RESERVED
    if bad or not isinstance(path, str) or len(path) > LONGEST or re.search(r"[\x00-\x1f\x7f\\]", path):
        raise FloorError(f"a file is named {path!r:.200}, which floor does not write")
    return path


def chosen(files: Sequence[Entry], include: Sequence[str]) -> tuple[Entry, ...]:
    """Given all files of a repository and patterns (none: all), return those that match one; `*` stands for `/` too."""
    return tuple(one for one in files if not include or any(fnmatchcase(one.path, pattern) for pattern in include))


def read(folder: Path) -> Manifest | None:
    """Given a folder, return its manifest, None where it has none that can be read."""
    try:
        values = json.loads((folder / NAME).read_text())
        files = entries(values["files"])
        times = {row["path"]: int(row["mtime"]) for row in values["files"] if row.get("mtime") is not None}
        found = Manifest(origin(values), files, times)
    except (OSError, ValueError, KeyError, TypeError, FloorError):
        return None
    return found if all(entry.sha256 for entry in files) else None


def changed(folder: Path, manifest: Manifest) -> list[str]:
    """Return the paths whose size or time is not what it was when they were hashed; nothing is read."""
    found = []
    for entry in manifest.files:
        try:
            seen = (folder / entry.path).stat()
        except OSError:
            found.append(entry.path)
            continue
        if (seen.st_size, seen.st_mtime_ns) != (entry.size, manifest.times.get(entry.path)):
            found.append(entry.path)
    return found
