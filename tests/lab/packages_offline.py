"""A Debian mirror that is a folder in a box: boxes have no way out, and `floor setup` runs apt-get."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

from tests.lab.box import Box

FOLDER = "/srv/mirror"


def serve(box: Box, *packages: str) -> None:
    """Let a box's apt-get install `packages`, fetched by this machine, which must run the same Debian."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["apt-get", "download", "-q", *packages], cwd=place, check=True, capture_output=True)
        debs = sorted(Path(place).glob("*.deb"))
        box.run(["mkdir", "-p", FOLDER])
        for deb in debs:
            (box.root / FOLDER.lstrip("/") / deb.name).write_bytes(deb.read_bytes())
    box.put(f"{FOLDER}/Packages", "\n".join(_entry(deb, box) for deb in debs))
    box.put("/etc/apt/sources.list", f"deb [trusted=yes] file:{FOLDER} ./\n")


def _entry(deb: Path, box: Box) -> str:
    data = (box.root / FOLDER.lstrip("/") / deb.name).read_bytes()
    about = box.run(["dpkg-deb", "--field", f"{FOLDER}/{deb.name}"]).stdout
    return f"{about}Filename: ./{deb.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
