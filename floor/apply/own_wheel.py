"""floor's own wheel, made from whatever is running: an installed wheel, an editable install or a checkout.

The same files always give the same bytes. Links (healthcheck, tooltest, watchdog, templates) are followed.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile
from collections.abc import Mapping
from importlib import metadata, resources
from pathlib import Path

from floor.errors import FloorError

DISTRIBUTION = "factory-floor"
SKIPPED = (".pyc", ".pyo", "~", ".swp", ".orig", ".rej")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


def package() -> Path:
    """Return the folder of the package `floor` that is running."""
    return Path(str(resources.files("floor")))


def contents(folder: Path) -> dict[str, bytes]:
    """Given the folder of a package, return its files by their path in a wheel: `floor/…`, in order."""
    found = {}
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        for name in names:
            if not name.endswith(SKIPPED) and not name.startswith("."):
                path = Path(place, name)
                found[f"floor/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    return dict(sorted(found.items()))


def build(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Given the files of the package, return the name and the bytes of the wheel.

    Raises FloorError when floor's own metadata is not there (it runs from a folder that nobody installed).
    """
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise FloorError(
            f"{DISTRIBUTION} is not installed here, its files are only on the path; run `pip install -e .` in them"
        ) from None
    stem = f"{DISTRIBUTION.replace('-', '_')}-{distribution.version}"
    inside = f"{stem}.dist-info"
    about = {
        f"{inside}/METADATA": (distribution.read_text("METADATA") or "").encode(),
        f"{inside}/WHEEL": b"Wheel-Version: 1.0\nGenerator: floor\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{inside}/entry_points.txt": (distribution.read_text("entry_points.txt") or "").encode(),
    }
    everything = {**files, **about}
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in everything.items())
    everything[f"{inside}/RECORD"] = f"{record}{inside}/RECORD,,\n".encode()
    return f"{stem}-py3-none-any.whl", _zip(everything)


def _digest(data: bytes) -> str:
    """As RECORD wants it: urlsafe base64 without padding (packaging.python.org, binary distribution format)."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zip(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)
    return target.getvalue()
