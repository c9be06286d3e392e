"""A key as a service reads it from its file, and the one that follows while it is being replaced."""

from __future__ import annotations

from pathlib import Path

from floor.box import paths
from floor.errors import FloorError


def keys(path: Path | None, root: Path, name: str = "key") -> tuple[str, ...]:
    """Given where a key lies and what it is called, return those to try in turn; none where there is none. Raise
    FloorError if the file cannot be read, or is no key."""
    if path is None:
        return ()
    place = paths.under(root, path)
    following = place.with_suffix(".next")
    return (_key(place, name), *([_key(following, name)] if following.exists() else []))


def _key(place: Path, name: str) -> str:
    try:
        key = place.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: the {name} cannot be read ({error}); `floor deploy` makes it") from error
    if not key or not key.isascii() or not key.isprintable():
        raise FloorError(
            f"{place}: a key is one line of ASCII characters; remove the file, `floor deploy` makes it anew"
        )
    return key
