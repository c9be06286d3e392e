"""Why an engine ended, by its exit and its last lines: does a start help, or will it end the same way again? Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# What no start mends, as the words that engines, drivers and docker have for it. The first that is found counts.
_TERMINAL = (
    # The card answers again only after a reset or a reboot (NVIDIA's Xid catalogue, "GPU Reset Required").
    (r"GPU (?:reset|restart) (?:is )?required|GPU requires reset|GPU is lost|fallen off the bus", "the card is lost"),
    (r"NVRM: Xid .*: (?:79|95|119|120|154)\b", "the card is lost"),
    (r"CUDA (?:driver version is insufficient|error: system not yet initialized)", "driver and library do not fit"),
    (r"Driver/library version mismatch", "driver and library do not fit"),
    (r"unrecognized arguments?:|error: argument |invalid argument:|unknown argument", "it refuses its arguments"),
    (r"No such image|Unable to find image|manifest unknown", "its image is not on this box"),
    (r"does not appear to have (?:a|any) file|is not a valid model identifier|failed to open GGUF", "no weights there"),
    (r"Model architectures .* are not supported|unknown model architecture", "it does not know this kind of model"),
)
_LATER = (
    (r"Free memory on device .* is less than desired GPU memory", "too little memory is free"),
    (r"CUDA out of memory|OutOfMemoryError|NV_ERR_NO_MEMORY|No available memory for the cache", "it ran out of memory"),
    (r"[Aa]ddress already in use|couldn't bind HTTP server", "another process holds its port"),
)
# systemd.exec(5): the unit's own program or user is missing. docker-run(1): 125 to 127 are docker's own.
_EXITS = {203: "its program is not there", 217: "its user is not there", 126: "docker cannot start it"}
_EXITS |= {127: "its program is not in the image"}


@dataclass(frozen=True)
class Ending:
    """Why an engine ended, in a few words, with the line that says so. `terminal`: no start mends it."""

    words: str
    terminal: bool
    line: str = ""


def ending(lines: Sequence[str], status: int | None) -> Ending | None:
    """Given the last lines of an engine's log and its exit status, return why it ended; None where neither tells.

    The newest line that tells anything counts. `status` is None where it was killed or did not end.
    """
    for line in reversed(lines):
        for patterns, terminal in ((_TERMINAL, True), (_LATER, False)):
            for pattern, words in patterns:
                if re.search(pattern, line):
                    return Ending(words, terminal, line.strip()[:200])
    if status in _EXITS:
        return Ending(_EXITS[status], terminal=True, line=f"exit status {status}")
    return None
