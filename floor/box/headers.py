"""What weights on this box say of themselves: config.json, and tensors and their sizes. Read only.

No tensor is read: the header of a safetensors file is its first bytes, and so is that of a GGUF file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from floor.box import gguf
from floor.errors import FloorError

_LARGEST = 100 * 2**20  # bytes: the format's own bound for a header (safetensors/src/tensor.rs)
_EXPERT = re.compile(r"\.experts\.\d+\.")


def read(source: Path) -> dict[str, Any]:
    """Given a folder of weights or a .gguf file, return {config, tensors, gguf}: values of config.json (or of the
    GGUF's own table), and {name: bytes} in which the experts of a layer are added up under `experts.*`.

    Raise FloorError where it is not there, cannot be read, or holds neither.
    """
    try:
        if source.is_file():
            return _gguf(sorted(source.parent.glob(_parts(source.name))) or [source])
        if not source.is_dir():
            raise FloorError(f"{source}: found no such folder or file; name the folder that holds the weights")
        files = sorted(source.glob("*.safetensors"))
        if not (source / "config.json").is_file():
            raise FloorError(f"{source}: found no config.json in it; name the folder that holds the weights")
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        tensors: dict[str, int] = {}
        for file in files:
            for name, size in header(file).items():
                tensors[name] = tensors.get(name, 0) + size
    except OSError as error:
        raise FloorError(f"{source}: cannot be read: {error.strerror}; look at its permissions") from error
    except ValueError as error:
        raise FloorError(f"{source / 'config.json'}: found no JSON ({error}); fetch the weights again") from error
    if not isinstance(config, dict):
        raise FloorError(f"{source / 'config.json'}: found no object; fetch the weights again")
    return {"config": config, "tensors": tensors, "gguf": False}


def header(file: Path) -> dict[str, int]:
    """Given a safetensors file, return {tensor: bytes}. Raise FloorError where it has no header of that format."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        text = opened.read(length) if 0 < length <= _LARGEST else b""
    try:
        table = json.loads(text)
        sizes: dict[str, int] = {}
        for name, tensor in table.items():
            if name != "__metadata__":
                start, end = tensor["data_offsets"]
                plain = _EXPERT.sub(".experts.*.", name)
                sizes[plain] = sizes.get(plain, 0) + int(end) - int(start)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FloorError(f"{file}: found no header of safetensors; fetch the weights again") from error
    return sizes


def _gguf(files: list[Path]) -> dict[str, Any]:
    tensors: dict[str, int] = {}
    values: dict[str, Any] = {}
    for file in files:
        with file.open("rb") as opened:
            own, sizes = gguf.parse(opened, str(file))
        values = {**own, **values}  # the first part has the model's own
        tensors |= sizes
    return {"config": values, "tensors": tensors, "gguf": True}


def _parts(name: str) -> str:
    """Given a GGUF file's name, return a pattern for all parts of it: `-00001-of-00003.gguf`."""
    return re.sub(r"-\d{5}-of-(\d{5})\.gguf$", r"-?????-of-\1.gguf", name.replace("[", "[[]"))
