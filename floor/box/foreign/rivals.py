"""Unit files that conflict with units of ours, whatever their state: whoever starts one stops ours.

systemd tells `ConflictedBy=` of a unit only for others that it has loaded, and one that lies there disabled is loaded
when somebody starts it. So the files are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from floor.box import paths

# systemd.unit(5), those that a person or a package writes
PLACES = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")
LARGEST = 64 * 1024  # bytes of a file that is looked into
_CONFLICTS = re.compile(r"^[ \t]*Conflicts[ \t]*=(.*)$", re.MULTILINE)
_OURS = re.compile(r"\bfloor-(?:copy|group)-[\w.@:-]+")


def rivals(root: Path = paths.ROOT) -> dict[str, list[str]]:
    """Return the names of such units, each with the units of ours that it conflicts with."""
    found: dict[str, set[str]] = {}
    for name, path in _files(root):
        if name.startswith("floor-"):
            continue
        try:
            text = path.read_text() if path.stat().st_size <= LARGEST else ""
        except (OSError, UnicodeError):
            continue
        ours = {unit for line in _CONFLICTS.findall(text.replace("\\\n", " ")) for unit in _OURS.findall(line)}
        if ours:
            found.setdefault(name, set()).update(ours)
    return {name: sorted(ours) for name, ours in sorted(found.items())}


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Each unit's name with its file, and with each of its drop-ins."""
    for place in PLACES:
        folder = paths.under(root, place)
        yield from ((path.name, path) for path in folder.glob("*.service"))
        yield from ((path.parent.name.removesuffix(".d"), path) for path in folder.glob("*.service.d/*.conf"))
