"""Releases of floor on this box: a folder each below /opt/floor, `current` points at the one in use."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from floor.box import command, paths
from floor.errors import FloorError, UsageError

NAME = re.compile(r"[0-9][0-9A-Za-z.]*\+[0-9a-f]{12}")
READY = "floor-release"  # a file in the folder, written last: a folder without it is half an installation
KEPT = 3
INSTALL_TIMEOUT = 300.0  # seconds; 30 wheels take about 8 on a slow disk

Execute = Callable[[Sequence[str]], command.Result]


def current(root: Path = paths.ROOT) -> str | None:
    """Return the name of the release in use, None where there is none."""
    link = paths.under(root, paths.CURRENT)
    return link.readlink().name if link.is_symlink() and whole(link) else None


def whole(folder: Path) -> bool:
    """Whether a release is complete, and the system's Python that it was made with is still there."""
    return (folder / READY).is_file() and (folder / "bin" / "python").exists()


def running() -> str | None:
    """Return the name of the release that this process runs from, None for a checkout or another environment.

    True at its start only: it was started through `current`, which may point at another one since.
    """
    folder = Path(sys.prefix).resolve()
    return folder.name if (folder / READY).is_file() else None


def installed(root: Path = paths.ROOT) -> list[str]:
    """Return the names of the releases that are complete, oldest first."""
    found = paths.under(root, paths.OPT).glob(f"*/{READY}")
    ready = [place for place in found if NAME.fullmatch(place.parent.name) and whole(place.parent)]
    return [place.parent.name for place in sorted(ready, key=lambda place: place.stat().st_mtime)]


def install(
    name: str, bundle: bytes, sha256: str, *, root: Path = paths.ROOT, python: str = "", execute: Execute | None = None
) -> dict[str, Any]:
    """Given a release's name and a tar of wheels, install it into /opt/floor/NAME and let `current` point at it.

    A folder is made under its final name, since an environment cannot be moved; what an interrupted run left is removed
    first. `current` flips in one step, after the new release has imported floor. The last three are kept.
    Returns {"release", "changed"}. Raises FloorError with pip's own words when a wheel does not fit this box.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"release {name!r}: must look like 0.1.0+0123456789ab")
    if (seen := hashlib.sha256(bundle).hexdigest()) != sha256:
        raise FloorError(f"release {name}: arrived damaged ({len(bundle)} bytes, sha256 {seen}); try again")
    home = paths.under(root, paths.OPT)
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home):
        changed = False
        if not whole(home / name):
            _build(home / name, bundle, python or base_python(), execute or _execute)
            changed = True
        if current(root) != name:
            _flip(home, name)
            changed = True
        os.utime(home / name / READY)  # the order of use, so that the one in use is never the oldest
        _forget(home, name, root)
    return {"release": name, "changed": changed}


def base_python() -> str:
    """The system's own interpreter: an environment made from one in another release would fall with that release."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable) or sys.executable)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    handle = os.open(home / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _build(folder: Path, bundle: bytes, python: str, execute: Execute) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="floor-wheels-") as unpacked:
        wheels = unpack(bundle, Path(unpacked))
        pip = next((wheel for wheel in wheels if wheel.name.startswith("pip-")), None)
        if pip is None:
            raise FloorError(f"release {folder.name}: carries no wheel of pip; make it again")
        # Debian's python3 has no ensurepip without python3-venv: pip is run from its own wheel instead.
        _must(execute([python, "-I", "-m", "venv", "--without-pip", str(folder)]), folder)
        inside = str(folder / "bin" / "python")
        options = [
            "--no-index",
            "--no-deps",
            "--no-compile",
            "--disable-pip-version-check",
            "--no-cache-dir",
            "--quiet",
        ]
        argv = [inside, "-I", f"{pip}/pip", "install", *options, *map(str, wheels)]
        _must(execute(argv), folder)
        _must(execute([inside, "-I", "-m", "pip", "check"]), folder)  # --no-deps does not look whether all are there
        _must(execute([inside, "-I", "-m", "compileall", "-q", str(folder / "lib")]), folder)
        _must(execute([inside, "-I", "-c", "import floor.agent.__main__, psutil, httpx"]), folder)
    with (folder / READY).open("w") as file:
        file.write(folder.name + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.sync()


def unpack(bundle: bytes, folder: Path) -> list[Path]:
    """Given a tar of wheels, write them into `folder` and return their paths. Raises FloorError for anything else."""
    found = []
    try:
        with tarfile.open(fileobj=io.BytesIO(bundle)) as tar:
            for member in tar:
                name = PurePosixPath(member.name).name
                if not member.isreg() or name != member.name or not name.endswith(".whl"):
                    raise FloorError(f"release: holds {member.name!r}, which is no wheel")
                content = tar.extractfile(member)
                (folder / name).write_bytes(content.read() if content else b"")
                found.append(folder / name)
    except tarfile.TarError as error:
        raise FloorError(f"release: is no tar of wheels: {error}") from None
    return sorted(found)


def _execute(argv: Sequence[str]) -> command.Result:
    return command.run(argv, timeout=INSTALL_TIMEOUT)


def _must(result: command.Result, folder: Path) -> None:
    if not result.ok:
        shutil.rmtree(folder, ignore_errors=True)
        raise FloorError(f"release {folder.name}: cannot be installed: {result.said[-1500:] or 'no word of why'}")


def _flip(home: Path, name: str) -> None:
    temporary = home / ".current.new"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(name)
    temporary.replace(home / "current")


def _forget(home: Path, name: str, root: Path) -> None:
    """Remove what is not among the last three, and half installations; nothing that a process still runs from."""
    keep = set(installed(root)[-KEPT:]) | {name}
    for folder in home.iterdir():
        ours = folder.is_dir() and not folder.is_symlink() and NAME.fullmatch(folder.name)
        if ours and folder.name not in keep and not _in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    """Whether a process was started from there: a service keeps its release until it is restarted."""
    start = os.fsencode(folder) + b"/"
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if start in (process / "cmdline").read_bytes() or start in (process / "maps").read_bytes():
                    return True
            except OSError:  # gone meanwhile, or not ours to look at
                continue
    return False
