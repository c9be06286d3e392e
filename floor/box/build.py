"""What a box would start for a model: the release of its engine, and what lies in its folder of weights. Reads only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from floor.box import manifest, paths
from floor.box.command import Run

SECONDS = 60.0  # for an interpreter on a busy box to tell a version
MOST_FILES = 2000
LARGEST_READ = 64 << 20  # bytes of a small file; tokenizers have up to 40 MB
SMALL = (".json", ".jinja", ".model", ".txt", ".py")
_ASK = "import importlib.metadata as m; print(m.version({name!r}))"


def version(command: Sequence[str], distribution: str, run: Run) -> str | None:
    """Given an engine's program with the words before its arguments, and the name of its distribution, return the
    version that is installed there; None where it does not tell.

    A program of Python's is a script, whose interpreter knows; a whole start would take a minute.
    """
    interpreter = _interpreter(command)
    if interpreter is None:
        return None
    result = run([*interpreter, "-c", _ASK.format(name=distribution)])
    return result.out.strip() or None if result.ok else None


def _interpreter(command: Sequence[str]) -> list[str] | None:
    program = Path(command[0])
    if program.name.startswith("python"):
        return [command[0]]
    try:
        with program.open("rb") as file:
            lines = file.read(1024).decode(errors="replace").splitlines()
    except OSError:
        return None
    first = lines[0] if lines else ""
    if first.startswith("#!") and "python" in first:
        return first.removeprefix("#!").split()
    second = lines[1] if len(lines) > 1 else ""  # how pip writes a long path, behind /bin/sh
    if second.startswith("'''exec' ") and "python" in second:
        return [second.removeprefix("'''exec' ").split('"' if '"' in second else " ")[1 if '"' in second else 0]]
    return None


def weights(folder: str, root: Path = paths.ROOT) -> dict[str, Any]:
    """Given a folder of weights, return {"digest", "files": {path: bytes}, "small": {path: sha256}, "config": {…}}.

    `digest` is that of its manifest, None where it has none or files have changed since; `small` are the files beside
    the weights, which are read; `config` what its config.json says of layers and heads.
    """
    place = paths.under(root, folder)
    known = manifest.read(place)
    files = _files(place)
    small = {
        path: hashlib.sha256((place / path).read_bytes()).hexdigest()
        for path, size in files.items()
        if path.endswith(SMALL) and size <= LARGEST_READ
    }
    whole = known is not None and not manifest.changed(place, known)
    return {
        "digest": known.digest if known is not None and whole else None,
        "files": files,
        "small": small,
        "config": _config(place / "config.json"),
    }


def _files(place: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in sorted(place.rglob("*")):
        path = str(one.relative_to(place))
        if any(part.startswith(".") for part in Path(path).parts) or len(found) >= MOST_FILES:
            continue
        with suppress(OSError):
            if one.is_file():
                found[path] = one.stat().st_size
    return found


def _config(place: Path) -> dict[str, int]:
    """Layers and heads, also of a model that sees and has them under text_config."""
    try:
        told = json.loads(place.read_text())
        told = {**told, **(told.get("text_config") or {})}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    names = {"layers": "num_hidden_layers", "heads": "num_attention_heads"}
    return {key: told[name] for key, name in names.items() if isinstance(told.get(name), int)}
