"""The header of a GGUF file: its table of values, and names and sizes of its tensors (ggml-org/ggml, docs/gguf.md)."""

from __future__ import annotations

import math
import struct
from typing import Any, BinaryIO

from floor.errors import FloorError

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_KEPT = 1024  # values of a list; longer ones are vocabularies
_MOST = 1 << 24  # tensors, values, bytes of a text: beyond that the file is damaged
# Bytes and values of a block, by type (ggml/src/ggml-common.h).
_BLOCKS = {
    0: (4, 1), 1: (2, 1), 2: (18, 32), 3: (20, 32), 6: (22, 32), 7: (24, 32), 8: (34, 32), 9: (36, 32),
    10: (84, 256), 11: (110, 256), 12: (144, 256), 13: (176, 256), 14: (210, 256), 15: (292, 256),
    16: (66, 256), 17: (74, 256), 18: (98, 256), 19: (50, 256), 20: (18, 32), 21: (110, 256), 22: (82, 256),
    23: (136, 256), 24: (1, 1), 25: (2, 1), 26: (4, 1), 27: (8, 1), 28: (8, 1), 29: (56, 256), 30: (2, 1),
    34: (54, 256), 35: (66, 256), 39: (17, 32), 40: (36, 64),
}  # fmt: skip


def parse(file: BinaryIO, name: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Given an open GGUF file and its name, return its table of values (lists over 1024 left out) and {tensor: bytes}.

    The value `floor.vocabulary` is added: rows of the table of words.
    Raise FloorError where it is no GGUF file, is cut short, or has a type of tensor that is not known.
    """
    reader = _Reader(file, name)
    if file.read(4) != b"GGUF":
        raise FloorError(f"{name}: found no GGUF file; name the first .gguf file of the model")
    version = reader.scalar("I")
    if version not in (2, 3):
        raise FloorError(f"{name}: found version {version} of GGUF; 2 and 3 are known")
    tensors, many = reader.count(), reader.count()
    values: dict[str, Any] = {}
    for _ in range(many):
        key = reader.text()
        value = reader.value(reader.scalar("I"))
        if value is not None:
            values[key] = value
    sizes: dict[str, int] = {}
    for _ in range(tensors):
        tensor = reader.text()
        dimensions = [reader.count(1 << 40) for _ in range(reader.scalar("I"))]
        kind = reader.scalar("I")
        reader.scalar("Q")
        if kind not in _BLOCKS:
            raise FloorError(f"{name}: found tensor {tensor} of type {kind}, which is not known")
        size, per = _BLOCKS[kind]
        sizes[tensor] = math.prod(dimensions) // per * size
        if tensor == "token_embd.weight":
            values["floor.vocabulary"] = dimensions[-1]
    return values, sizes


class _Reader:
    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name

    def bytes(self, many: int) -> bytes:
        found = self._file.read(many)
        if len(found) != many:
            raise FloorError(f"{self._name}: the file ends within its header; fetch it again")
        return found

    def scalar(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self.bytes(struct.calcsize(f"<{form}")))[0]

    def count(self, most: int = _MOST) -> int:
        found = int(self.scalar("Q"))
        if found > most:
            raise FloorError(f"{self._name}: found a length of {found} in its header; fetch it again")
        return found

    def text(self) -> str:
        return self.bytes(self.count()).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A value of the table; None for long lists."""
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            raise FloorError(f"{self._name}: found a value of type {kind}, which is not known; fetch it again")
        inner, many = self.scalar("I"), self.count()
        if inner in _SCALARS and many > _KEPT:
            self.bytes(many * struct.calcsize(f"<{_SCALARS[inner]}"))
            return None
        found = [self.value(inner) for _ in range(many)]
        return found if many <= _KEPT else None
