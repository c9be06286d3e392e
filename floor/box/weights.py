"""A folder of weights on this box: whole or not, and how it becomes whole without ever looking so too early.

A new folder grows beside its place, as `.NAME.floor-part`, and gets its name in one step. In a folder that is there
already, single files are replaced; `.floor-incomplete` lies in it until they are.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from floor.box import manifest, paths
from floor.box.manifest import Entry, Manifest, Origin
from floor.errors import FloorError, RefusedError

READABLE = 0o644  # the engine's user has to read what root fetches
OPEN = 0o755


def folder_of(source: str, include: Sequence[str] = ()) -> str:
    """Given the `source` of a copy and the patterns of its fetch, return the folder that is fetched into.

    A single file lies in one. Where the patterns name a folder of the repository (`Q4_K_M/*.gguf`) and the file lies in
    one of that name, the repository begins above it.
    """
    if not source.endswith(".gguf"):
        return source
    folder = str(PurePosixPath(source).parent)
    heads = {pattern.rpartition("/")[0] for pattern in include}
    head = f"/{heads.pop()}" if len(heads) == 1 else "/"
    return folder.removesuffix(head) if head != "/" and len(folder) > len(head) else folder


def part_of(folder: Path) -> Path:
    """Given a folder, return where it grows before it has its name."""
    return folder.with_name(f".{folder.name}.floor-part")


def look(folder: str, root: Path = paths.ROOT) -> dict[str, Any]:
    """Given a folder, return what is known of it without reading weights.

    {"exists", "origin", "digest", "size", "count", "changed": [paths that are not as they were hashed], "incomplete":
    why or None, "bytes": what lies there and is not changed, "partial": bytes that have come, "free": bytes on its
    disk, "device": which disk}; what it has not is None.
    """
    place = paths.under(root, folder)
    known = manifest.read(place)
    changed = manifest.changed(place, known) if known else []
    there = nearest(place)
    room = os.statvfs(there)
    return {
        "exists": place.exists(),
        "origin": known.origin.as_json() if known else None,
        "digest": known.digest if known else None,
        "size": known.size if known else None,
        "count": len(known.files) if known else None,
        "changed": changed,
        "incomplete": incomplete(place),
        "bytes": sum(one.size for one in known.files if one.path not in changed) if known else size_of(place),
        "partial": size_of(part_of(place)),
        "free": room.f_bavail * room.f_frsize,
        "device": there.stat().st_dev,
    }


def state(folder: str, root: Path = paths.ROOT) -> dict[str, Any]:
    """What a deployment asks of a folder: {"origin", "incomplete", "partial"} as in `look`, without what takes long."""
    place = paths.under(root, folder)
    known = manifest.read(place)
    return {
        "origin": known.origin.as_json() if known else None,
        "incomplete": incomplete(place),
        "partial": size_of(part_of(place)),
    }


def incomplete(place: Path) -> str | None:
    """Return what a folder lacks, as the fetch that was changing it has written; None where nothing does."""
    with suppress(OSError):
        return (place / manifest.INCOMPLETE).read_text().strip() or "files are missing"
    return None


def nearest(place: Path) -> Path:
    """Return the folder that is there nearest above a place that may not be."""
    return next(folder for folder in (place, *place.parents) if folder.is_dir())


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder; 0 where there is none."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def begin(folder: Path, lacking: Sequence[Entry]) -> Path:
    """Make the folder that files come into and return it. A folder in use is marked first, with what it lacks.

    Raises RefusedError where somebody else owns what lies there: root would write wherever it points to.
    """
    part = part_of(folder)
    part.parent.mkdir(mode=OPEN, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        part.mkdir(mode=OPEN)
    seen = part.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid() or seen.st_mode & 0o022:
        raise RefusedError(f"{part}: is not a folder of root's alone; look at it, then remove it")
    if folder.exists() and lacking:
        names = ", ".join(entry.path for entry in lacking[:3]) + (" and more" if len(lacking) > 3 else "")
        write(folder / manifest.INCOMPLETE, f"{len(lacking)} files: {names}\n")
    return part


def within(part: Path, path: str) -> Path:
    """Given the growing folder and a file's path in it, return its place; folders on the way are made."""
    place = part / path
    place.parent.mkdir(mode=OPEN, parents=True, exist_ok=True)
    return place


def finish(folder: Path, origin: Origin, files: Iterable[Entry]) -> Manifest:
    """Give the folder its name, or what has come its place in the folder that is there. Return its manifest.

    `files` are all of it, each with its sha256. Everything is on the disk before anything has its name. Raises
    RefusedError where a link in the folder leads out of it.
    """
    entries, part = tuple(files), part_of(folder)
    if folder.exists():
        for entry in entries:
            if (part / entry.path).exists():
                _settle(part / entry.path)
                place = folder / entry.path
                _demand_inside(place.parent, folder)
                place.parent.mkdir(mode=OPEN, parents=True, exist_ok=True)
                (part / entry.path).replace(place)
        known = _write_manifest(folder, origin, entries)
        (folder / manifest.INCOMPLETE).unlink(missing_ok=True)
        shutil.rmtree(part, ignore_errors=True)
    else:
        _keep_only(part, {entry.path for entry in entries})
        for entry in entries:
            _settle(part / entry.path)
        known = _write_manifest(part, origin, entries)
        sync_folders(part)
        part.rename(folder)
    sync_folders(folder)
    sync(folder.parent)
    return known


def _demand_inside(place: Path, folder: Path) -> None:
    """Raise RefusedError where links lead out of a folder: whoever owns it could have root write anywhere."""
    if not place.resolve().is_relative_to(folder.resolve()):
        raise RefusedError(f"{place}: leads out of {folder}; put a folder in the place of that link, and fetch again")


def _keep_only(part: Path, wanted: set[str]) -> None:
    """Take away what an earlier fetch, of other files, left in the growing folder."""
    for place in [place for place in part.rglob("*") if not place.is_dir()]:
        if str(place.relative_to(part)) not in wanted:
            place.unlink()


def _settle(place: Path) -> None:
    place.chmod(READABLE)
    sync(place)


def _write_manifest(folder: Path, origin: Origin, entries: Sequence[Entry]) -> Manifest:
    times = {entry.path: (folder / entry.path).stat().st_mtime_ns for entry in entries}
    known = Manifest(origin, tuple(entries), times)
    write(folder / manifest.NAME, json.dumps(known.as_json(), indent=1) + "\n")
    return known


def record(folder: Path, known: Manifest, damaged: Sequence[str]) -> None:
    """After every file was read: keep the manifest with the times of now, and without any for what is damaged."""
    times = {one.path: (folder / one.path).stat().st_mtime_ns for one in known.files if one.path not in damaged}
    write(folder / manifest.NAME, json.dumps(replace(known, times=times).as_json(), indent=1) + "\n")


def write(place: Path, text: str) -> None:
    """Write a small file of ours: temporary name, synced, renamed."""
    new = place.with_name(place.name + ".new")
    with suppress(FileNotFoundError):
        new.unlink()  # not followed where somebody put a link there
    with new.open("x") as file:
        file.write(text)
        file.flush()
        os.fchmod(file.fileno(), READABLE)
        os.fsync(file.fileno())
    new.replace(place)


def sync(place: Path) -> None:
    """Bring a file or a folder to the disk. Raises FloorError where that fails: what was written may be lost."""
    handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        raise FloorError(f"{place}: cannot be brought to the disk ({error.strerror})") from None
    finally:
        os.close(handle)


def sync_folders(folder: Path) -> None:
    """Bring the names in a folder, and in those below it, to the disk."""
    for place, _, _ in os.walk(folder):
        sync(Path(place))
