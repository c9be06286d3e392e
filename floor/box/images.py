"""Images of docker: pulled, packed for another box, and unpacked there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from floor.box import command, containers, paths
from floor.errors import FloorError, UsageError

PACKED = "image.tar"
ID = re.compile(r"(?:sha256:)?[0-9a-f]{12,64}")
Follow = Callable[[Sequence[str], Callable[[str], None]], tuple[int, str]]


def look(references: Sequence[str], run: command.Run = command.run) -> dict[str, Any]:
    """Given references, return {"docker": version or None, "digests": whether a loaded image keeps its digest, "free",
    "device": of docker's folder, "images": {reference: {"id", "size"} or None}}."""
    found: dict[str, Any] = {"docker": None, "error": None, "digests": False, "images": {}, "free": 0, "device": None}
    try:
        found["docker"] = containers.version(run)
    except FloorError as error:
        found["error"] = str(error)
    if found["docker"] is None:
        return {**found, "images": dict.fromkeys(references)}
    about = run(["docker", "info", "--format", "{{json .}}"])
    told = json.loads(about.out) if about.ok else {}
    # Only containerd's image store keeps the digest of what was loaded (moby/moby#22011).
    driver = told.get("DriverStatus") or []
    found["digests"] = any(pair and pair[0] == "driver-type" and "containerd" in str(pair[-1]) for pair in driver)
    there = Path(told.get("DockerRootDir") or "/var/lib/docker")
    if there.is_dir():
        room = os.statvfs(there)
        found["free"], found["device"] = room.f_bavail * room.f_frsize, there.stat().st_dev
    found["images"] = {reference: inspect(reference, run) for reference in references}
    return found


def inspect(reference: str, run: command.Run = command.run) -> dict[str, Any] | None:
    """Given a reference, return {"id", "size"} of the image here, None where there is none."""
    result = run(["docker", "image", "inspect", "--format", '{"id":{{json .Id}},"size":{{.Size}}}', "--", reference])
    return dict(json.loads(result.out)) if result.ok else None


def follow(argv: Sequence[str], say: Callable[[str], None]) -> tuple[int, str]:
    """Run a program, tell each line it prints, and return its exit code and its last lines."""
    lines: list[str] = []
    with subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "") + ":" + command.PATH},
    ) as process:
        assert process.stdout is not None  # noqa: S101 -- made as a pipe
        for line in process.stdout:
            if line.strip():
                say(line.strip())
                lines = [*lines[-2:], line.strip()]
    return process.returncode, " / ".join(lines)


def pull(reference: str, say: Callable[[str], None], run: Follow = follow) -> None:
    """Get an image from its registry, with what root's docker knows of it. Raises FloorError with docker's words."""
    code, said = run(["docker", "pull", "--", reference], say)
    if code:
        raise FloorError(f"docker pull {reference}: {said or code}")


def pack(reference: str, folder: Path, say: Callable[[str], None], run: Follow = follow) -> Path:
    """Write an image into `folder` and return its file. Raises FloorError with docker's words."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = folder / f"{PACKED}.new"
    say(f"packing {reference}")
    code, said = run(["docker", "save", "--output", str(new), reference], say)
    if code:
        new.unlink(missing_ok=True)
        raise FloorError(f"docker save {reference}: {said or code}")
    new.replace(folder / PACKED)
    return folder / PACKED


def unpack(folder: Path, reference: str, image: str, say: Callable[[str], None], run: Follow = follow) -> None:
    """Load the image that lies in `folder`, see that it is `image` by its id, and remove the file.

    Raises FloorError with docker's words, or where `reference` is another image afterwards.
    """
    say(f"unpacking {reference}")
    code, said = run(["docker", "load", "--input", str(folder / PACKED)], say)
    if code:
        raise FloorError(f"docker load {reference}: {said or code}")
    found = inspect(reference)
    if found is None or found["id"] != image:
        raise FloorError(f"{reference}: docker loaded it as {(found or {}).get('id')}, it must be {image}")
    shutil.rmtree(folder, ignore_errors=True)


def spool(image: str, root: Path = paths.ROOT) -> Path:
    """Given an image's id, return the folder that its packed form lies in on its way to another box.

    Raises UsageError for what is no id: the folder is removed afterwards.
    """
    if not ID.fullmatch(image):
        raise UsageError(f"image {image!r:.100}: must be an id, sha256: and 64 hex digits")
    return paths.under(root, paths.FETCH_SPOOL) / image.removeprefix("sha256:")[:12]
