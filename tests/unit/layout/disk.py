"""Weights as they lie on disk, written by hand: headers whole, and nothing where the tensors would be."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def safetensors(path: Path, sizes: Mapping[str, int]) -> None:
    """Write a safetensors file whose header tells these tensors with these bytes."""
    table: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, size in sizes.items():
        table[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def folder(path: Path, config: Mapping[str, Any], sizes: Mapping[str, int]) -> Path:
    """Write a folder of weights: config.json and two files that share the tensors."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    names = sorted(sizes)
    for number, some in enumerate((names[::2], names[1::2]), 1):
        safetensors(path / f"model-{number:05d}-of-00002.safetensors", {name: sizes[name] for name in some})
    return path


def gguf(path: Path, values: Mapping[str, Any], tensors: Mapping[str, tuple[list[int], int]], version: int = 3) -> Path:
    """Write a GGUF file's header: a table of values, and {tensor: (dimensions, type)}."""
    text = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    for key, value in values.items():
        text += _text(key) + _value(value)
    for name, (dimensions, kind) in tensors.items():
        text += _text(name) + struct.pack("<I", len(dimensions))
        text += b"".join(struct.pack("<Q", size) for size in dimensions) + struct.pack("<IQ", kind, 0)
    path.write_bytes(text)
    return path


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    kind = 8 if value and isinstance(value[0], str) else 4
    items = b"".join(_text(one) if kind == 8 else struct.pack("<I", one) for one in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + items
