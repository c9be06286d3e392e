"""systemd's own cutting of a line into words: `extract_first_word` of the library that all of its programs share."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

# enum ExtractFlags of systemd's src/basic/extract-word.h, as config_parse_exec() passes them
_CUNESCAPE = 1 << 1
_UNQUOTE = 1 << 5


@cache
def _library() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    found = sorted(
        [
            *Path("/usr/lib").glob("*/systemd/libsystemd-shared-*.so"),
            *Path("/usr/lib/systemd").glob("libsystemd-shared-*.so"),
        ]
    )
    assert found, "libsystemd-shared is missing: apt-get install systemd"
    library = ctypes.CDLL(str(found[-1]))
    library.extract_first_word.argtypes = [
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_char_p,
        ctypes.c_int,
    ]
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    return library, libc


def cut(line: str) -> list[str]:
    """Given what stands behind ExecStart=, return its words. Raises ValueError where systemd refuses the line."""
    library, libc = _library()
    rest = ctypes.c_char_p(line.encode())
    words = []
    while True:
        word = ctypes.c_void_p()
        code = library.extract_first_word(ctypes.byref(rest), ctypes.byref(word), None, _CUNESCAPE | _UNQUOTE)
        if code < 0:
            raise ValueError(f"systemd says {code} to {line!r}")
        if code == 0:
            return words
        words.append(ctypes.string_at(word.value or 0).decode())
        libc.free(word)
