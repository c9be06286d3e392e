"""A release of floor as one file for a box: a tar of wheels that fit the box, so that it needs no internet itself."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from floor import __version__
from floor.apply import own_wheel
from floor.apply.closure import REFERENCE, Platform, closure
from floor.errors import FloorError

KEPT = 6  # bundles in the cache; each is some 10 MB
DOWNLOAD_TIMEOUT = 600.0  # seconds


@cache
def own_files() -> Mapping[str, bytes]:
    """Return floor's own files as they were at the first call: a name and its content must not drift apart."""
    return own_wheel.contents(own_wheel.package())


@cache
def release_id() -> str:
    """Return the name of the release that is running here: version, `+`, and 12 hex digits of its content.

    The content is floor's own files and the versions of all that it needs, not where or how it is installed.
    """
    digest = hashlib.sha256("\n".join(closure(REFERENCE)).encode())
    for path, data in own_files().items():
        digest.update(f"\0{path}\0{len(data)}\0".encode() + data)
    return f"{__version__}+{digest.hexdigest()[:12]}"


def platform_of(facts: Mapping[str, Any]) -> Platform:
    """Given a box's facts (`machine`, `python` and `libc` as texts), return the platform that wheels must fit.

    Raises FloorError for a box without glibc: its wheels are of another kind.
    """
    python, libc = (_pair(facts.get(name)) for name in ("python", "libc"))
    if python is None or libc is None or not facts.get("machine"):
        raise FloorError(
            f"no wheels for such a box: machine {facts.get('machine')}, Python {facts.get('python')}, "
            f"glibc {facts.get('libc')}; floor runs on Debian and Ubuntu, x86_64 and aarch64"
        )
    return Platform(facts["machine"], python, libc)


def _pair(text: Any) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", str(text or ""))
    return (int(found[1]), int(found[2])) if found else None


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder that keeps downloaded wheels: $XDG_CACHE_HOME/floor/wheels."""
    given = (os.environ if environment is None else environment).get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "floor" / "wheels"


Download = Callable[[Sequence[str]], tuple[int, str]]


@dataclass(frozen=True)
class Bundle:
    """A release as a tar of wheels: `params` and `payload` of the agent's call `release.install`."""

    release: str
    path: Path

    @property
    def payload(self) -> bytes:
        return self.path.read_bytes()

    @property
    def params(self) -> dict[str, Any]:
        data = self.payload
        return {"release": self.release, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def bundle(facts: Mapping[str, Any], cache: Path | None = None, download: Download | None = None) -> Bundle:
    """Given a box's facts, return a tar of floor's wheel and all that it needs there, pip's own wheel included.

    What is in the cache is not fetched again. Raises FloorError naming the wheels that could not be had.
    """
    platform = platform_of(facts)
    folder = cache or cache_folder()
    key = f"{platform.machine}-cp{platform.python[0]}{platform.python[1]}-glibc{platform.libc[0]}.{platform.libc[1]}"
    target = folder / f"{release_id()}-{key}.tar"
    if target.is_file():
        return Bundle(release_id(), target)
    (folder / key).mkdir(parents=True, exist_ok=True)
    wanted = closure(platform)
    lacking = [text for text in wanted if _match(text, folder / key) is None]
    fetch(lacking, platform, folder / key, download or _download)
    wheels = [found for text in wanted if (found := _match(text, folder / key))]
    name, own = own_wheel.build(own_files())
    _write(target, _tar({**{wheel.name: wheel.read_bytes() for wheel in wheels}, name: own}))
    _prune(folder)
    return Bundle(release_id(), target)


def fetch(lacking: Sequence[str], platform: Platform, folder: Path, download: Download) -> None:
    """Fetch wheels into `folder` with pip, whose own configuration (index, proxies, links) counts.

    Raises FloorError naming those that are still lacking, with pip's words.
    """
    if not lacking:
        return
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as fresh:
        code, said = download(pip_argv(lacking, platform, Path(fresh)))
        for wheel in Path(fresh).glob("*.whl"):
            wheel.replace(folder / wheel.name)
    missing = [text for text in lacking if _match(text, folder) is None]
    if code or missing:
        raise FloorError(
            f"wheels for a box with {platform} cannot be had: {', '.join(missing or lacking)}\n"
            f"  pip: {_last(said)}\n"
            "  connect this machine to the internet once, or set PIP_FIND_LINKS to a folder that holds them"
        )


def pip_argv(lacking: Sequence[str], platform: Platform, folder: Path) -> list[str]:
    """Return the pip command that fetches wheels for another machine. `-P`: the current folder is not imported."""
    version = f"{platform.python[0]}{platform.python[1]}"
    choice = ["--only-binary=:all:", "--no-deps", "--implementation", "cp", "--python-version", version]
    abis = [word for abi in (f"cp{version}", "abi3", "none") for word in ("--abi", abi)]
    platforms = [word for tag in platform.tags for word in ("--platform", tag)]
    quiet = ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder)]
    return [sys.executable, "-P", "-m", "pip", "download", *choice, *abis, *platforms, *quiet, *lacking]


def _download(argv: Sequence[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(list(argv), capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return 1, f"not done within {DOWNLOAD_TIMEOUT:g} s"
    return done.returncode, done.stderr + done.stdout


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("WARNING: Retrying")]
    return " / ".join(lines[-2:]) or "no word of why"


def _match(text: str, folder: Path) -> Path | None:
    """The wheel in `folder` that a requirement of `closure` means; the newest where it leaves a choice."""
    wanted = Requirement(text)
    fitting = []
    for wheel in folder.glob("*.whl"):
        try:
            name, version, _, _ = parse_wheel_filename(wheel.name)
        except InvalidWheelFilename:
            continue
        if name == canonicalize_name(wanted.name) and wanted.specifier.contains(version, prereleases=True):
            fitting.append((version, wheel))
    return max(fitting)[1] if fitting else None


def _tar(files: Mapping[str, bytes]) -> bytes:
    """The same files always give the same bytes."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def _write(target: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".new-", delete=False) as file:
        file.write(data)
    Path(file.name).replace(target)


def _prune(folder: Path) -> None:
    bundles = sorted(folder.glob("*.tar"), key=lambda path: path.stat().st_mtime)
    for old in bundles[:-KEPT]:
        old.unlink(missing_ok=True)
