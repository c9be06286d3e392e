"""Files of floor on this box: written whole or not at all, and only where floor owns everything."""

from __future__ import annotations

import errno
import grp
import hashlib
import os
import pwd
import secrets
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from floor.box import owned, paths
from floor.errors import FloorError

_WORDS = {
    errno.EBUSY: "is a mount point of its own (bind mount), so it cannot be replaced in one step; unmount it first",
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EROFS: "the file system is mounted read-only; look into the kernel log for why",
    errno.EISDIR: "is a folder where a file must be; move it away",
    errno.ENOTEMPTY: "is a folder where a file must be; move it away",
    errno.EACCES: "not permitted; the agent runs as root",
    errno.EPERM: "not permitted; is it marked immutable (lsattr)?",
}


def write(
    path: Path, content: str | bytes, *, mode: int = 0o644, owner: str = "root:root", root: Path = paths.ROOT
) -> None:
    """Replace one file of a box in one step: temporary name in the same folder, owner, mode, fsync, rename, fsync.

    `path` is absolute as on the box. Raises FloorError saying what stands in the way; the old file is then untouched.
    """
    pure = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        with owned.folder(pure, root, create=True) as folder:
            assert folder is not None  # noqa: S101 -- with create=True there always is one
            _replace(folder, pure.name, data, mode, identity(owner, path))
    except OSError as error:
        raise FloorError(f"{path}: {_WORDS.get(error.errno or 0, error.strerror)}") from None


def _replace(folder: int, name: str, data: bytes, mode: int, ids: tuple[int, int]) -> None:
    temporary = f".{name}.{secrets.token_hex(4)}.new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if ids != (os.geteuid(), os.getegid()):
                os.fchown(file.fileno(), *ids)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def identity(owner: str, path: Path | str) -> tuple[int, int]:
    """Given `user:group`, return their numbers. Raises FloorError naming `path` when this box has none such."""
    user, _, group = owner.partition(":")
    try:
        return pwd.getpwnam(user).pw_uid, grp.getgrnam(group or user).gr_gid
    except KeyError:
        raise FloorError(
            f"{path}: must belong to {owner}, but this box has no such user or group; run floor setup"
        ) from None


def look(path: str, root: Path = paths.ROOT) -> dict[str, Any] | None:
    """Given an absolute path, return {"sha256", "mode", "owner", "mtime"} of the file there; None where there is none.

    `mtime` is in unix seconds.
    A link or a folder is told by its "kind" and has an empty sha256, so that it equals no file that is wanted.
    """
    place = paths.under(root, path)
    try:
        seen = place.lstat()
        if not stat.S_ISREG(seen.st_mode):
            kind = "link" if stat.S_ISLNK(seen.st_mode) else "folder" if stat.S_ISDIR(seen.st_mode) else "special"
            return {"sha256": "", **_standing(seen), "kind": kind}
        digest = hashlib.sha256(place.read_bytes()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return {"sha256": digest, **_standing(seen)}


def _standing(seen: os.stat_result) -> dict[str, Any]:
    return {"mode": stat.S_IMODE(seen.st_mode), "owner": _owner(seen), "mtime": seen.st_mtime}


def _owner(seen: os.stat_result) -> str:
    try:
        user = pwd.getpwuid(seen.st_uid).pw_name
    except KeyError:
        user = str(seen.st_uid)
    try:
        group = grp.getgrgid(seen.st_gid).gr_name
    except KeyError:
        group = str(seen.st_gid)
    return f"{user}:{group}"


def put(wanted: Iterable[Mapping[str, Any]], root: Path = paths.ROOT) -> list[str]:
    """Given files as {"path", "text", "mode", "owner"}, make them so and return the paths that were changed.

    All paths are checked before the first is written. Raises RefusedError for a path that is not floor's.
    """
    files = [(owned.check(file["path"]), file) for file in wanted]
    changed = []
    for path, file in files:
        target = {
            "sha256": hashlib.sha256(file["text"].encode()).hexdigest(),
            "mode": file.get("mode", 0o644),
            "owner": file.get("owner", "root:root"),
        }
        seen = look(str(path), root) or {}
        if any(seen.get(key) != value for key, value in target.items()):
            write(Path(path), file["text"], mode=target["mode"], owner=target["owner"], root=root)
            changed.append(str(path))
    return changed


def remove(gone: Iterable[str], now: Callable[[], float], root: Path = paths.ROOT) -> list[str]:
    """Given absolute paths, remove what is there and return the paths that were; folders left empty go as well.

    A drop-in was written by a person: it is kept below /var/lib/floor/removed, named after the unix time `now()`.
    Raises RefusedError for a path that is not floor's.
    """
    changed = []
    for path in [owned.check(path) for path in gone]:
        if look(str(path), root) is None:
            continue
        if path.parent.name.endswith(".d") and paths.UNITS in path.parents:
            keep(path, now(), root)
        try:
            with owned.folder(path, root, create=False) as folder:
                if folder is not None:
                    os.unlink(path.name, dir_fd=folder)
                    os.fsync(folder)
        except OSError as error:
            raise FloorError(f"{path}: {_WORDS.get(error.errno or 0, error.strerror)}") from None
        _prune(path, root)
        changed.append(str(path))
    return changed


def keep(path: Path, now: float, root: Path) -> None:
    """Copy a file below /var/lib/floor/removed; a link has no content of its own and is not kept."""
    place = paths.under(root, str(path))
    if place.is_symlink() or not place.is_file():
        return
    name = f"{now:.0f}-{path.parent.name}-{path.name}"
    write(paths.REMOVED / name, place.read_bytes(), mode=0o600, owner=_owner(root.stat()), root=root)


def _prune(path: Path, root: Path) -> None:
    """Remove folders that the last file has left, as far as they are floor's."""
    for folder in path.parents:
        if paths.ETC not in folder.parents and not (folder.parent == paths.UNITS and folder.name.endswith(".d")):
            return
        try:
            paths.under(root, str(folder)).rmdir()
        except OSError:  # not empty, or gone already: both are fine
            return


def listed(root: Path = paths.ROOT) -> list[str]:
    """Return every path that floor owns and that exists: below /etc/floor (not secrets), units, drop-ins, needrestart.

    What `systemctl enable` makes (`*.wants`, `*.requires`) is state of a unit, not a file, and is left out.
    """
    found = [
        place for place in _walk(paths.under(root, paths.ETC)) if paths.under(root, paths.SECRETS) not in place.parents
    ]
    for place in sorted(paths.under(root, paths.UNITS).glob("floor*")):
        if place.is_symlink() or not place.is_dir():
            found.append(place)
        elif not place.name.endswith((".wants", ".requires")):
            found.extend(_walk(place))
    if (extra := paths.under(root, paths.NEEDRESTART)).is_file():
        found.append(extra)
    return sorted("/" + str(place.relative_to(root)) for place in found)


def _walk(folder: Path) -> list[Path]:
    return [place for place in folder.rglob("*") if place.is_symlink() or not place.is_dir()]
