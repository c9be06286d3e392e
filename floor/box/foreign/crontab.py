"""Lines of cron's files: commented out under floor's mark, and brought back."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.foreign import starters
from floor.box.locked import mine
from floor.errors import FloorError, RefusedError

MARK = "# taken over by floor: "
FOLDERS = ("/etc/cron.d", "/var/spool/cron")


def look(path: Path, digest: str, root: Path = paths.ROOT) -> dict[str, Any] | None:
    """Given a file of cron's and the digest of a line, return {} where the line is in force, None where it is not."""
    return {} if any(starters.digest(line) == digest for line in _lines(path, root)) else None


def disable(path: Path, digest: str, root: Path = paths.ROOT) -> None:
    """Comment a line out. A copy of the file as it was is kept first."""
    lines = _lines(path, root)
    kept = paths.TAKEN_FILES / str(path).strip("/").replace("/", "-")
    if not paths.under(root, kept).exists():
        files.write(kept, "\n".join(lines).encode(errors="surrogateescape"), mode=0o600, owner=mine(), root=root)
    _write(path, [MARK + line if starters.digest(line) == digest else line for line in lines], root)


def enable(path: Path, digest: str, root: Path = paths.ROOT) -> bool:
    """Bring a line back; False where it is there no more."""
    lines = _lines(path, root)
    wanted = [line.removeprefix(MARK) if starters.digest(line.removeprefix(MARK)) == digest else line for line in lines]
    if wanted == lines:
        return False
    _write(path, wanted, root)
    return True


def _lines(path: Path, root: Path) -> list[str]:
    allowed = path == Path("/etc/crontab") or any(Path(folder) in path.parents for folder in FOLDERS)
    if not allowed or ".." in path.parts:
        raise RefusedError(
            f"{path}: is no file of cron's; floor changes lines only in /etc/crontab and below {', '.join(FOLDERS)}"
        )
    try:
        return paths.under(root, path).read_bytes().decode(errors="surrogateescape").split("\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FloorError(f"{path}: cannot be read: {error.strerror}") from None


def _write(path: Path, lines: list[str], root: Path) -> None:
    """In one step, with owner and mode as they were. cron reads a folder anew when a file in it was replaced."""
    place = paths.under(root, path)
    if place.is_symlink():
        raise FloorError(f"{path}: is a link; change the line by hand where it leads to")
    temporary = place.with_name(f".{place.name}.floor")
    try:
        seen = place.stat()
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write("\n".join(lines).encode(errors="surrogateescape"))
            file.flush()
            os.fchown(file.fileno(), seen.st_uid, seen.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(seen.st_mode))
            os.fsync(file.fileno())
        temporary.replace(place)
    except OSError as error:
        raise FloorError(f"{path}: cannot be written: {error.strerror}; change the line by hand") from None
