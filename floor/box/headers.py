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
_INDEX = "model.safetensors.index.json"
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
        if not (source / "config.json").is_file():
            raise FloorError(f"{source}: found no config.json in it; name the folder that holds the weights")
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        tensors: dict[str, int] = {}
        for file in _files(source):
            for name, size in header(file).items():
                tensors[name] = tensors.get(name, 0) + size
    except OSError as error:
        raise FloorError(f"{source}: cannot be read: {error.strerror}; look at its permissions") from error
    except (ValueError, RecursionError) as error:
        raise FloorError(f"{source / 'config.json'}: found no JSON ({error}); fetch the weights again") from error
    if not isinstance(config, dict):
        raise FloorError(f"{source / 'config.json'}: found no object; fetch the weights again")
    return {"config": config, "tensors": tensors, "gguf": False}


def _files(source: Path) -> list[Path]:
    """The files that an engine loads: a folder may hold the weights once more, under its maker's names
    (consolidated.safetensors). As vLLM does it: those of the index, where there is one
    (vllm/model_executor/model_loader/weight_utils.py, filter_duplicate_safetensors_files)."""
    files = sorted(source.glob("*.safetensors"))
    usual = [file for file in files if not file.name.startswith("consolidated")] or files
    try:
        index = json.loads((source / _INDEX).read_text(encoding="utf-8"))["weight_map"]
        named = {str(name) for name in index.values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return usual
    if missing := sorted(named - {file.name for file in files}):
        raise FloorError(f"{source}: found no {missing[0]}, which {_INDEX} names; fetch the weights again")
    return [file for file in files if file.name in named]


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
                sizes[plain] = sizes.get(plain, 0) + max(0, int(end) - int(start))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
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
    values["floor.head"] = "output.weight" in tensors
    return {"config": values, "tensors": tensors, "gguf": True}


def _parts(name: str) -> str:
    """Given a GGUF file's name, return a pattern for all parts of it: `-00001-of-00003.gguf`."""
    return re.sub(r"-\d{5}-of-(\d{5})\.gguf$", r"-?????-of-\1.gguf", name.replace("[", "[[]"))
