"""What processes hold on the cards of this box, as the NVIDIA driver tells, where its library and `pynvml` are there.

On a box whose GPU shares the main memory (GB10) the driver's totals are not supported, what each process uses is. The
binding is a wheel without dependencies; where it is missing, or the driver does not answer, nothing is known of cards,
and everything else works without.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Cards:
    """`used` are bytes by process id; `shared` whether the GPU's memory is the box's own (None: no driver answers)."""

    used: Mapping[int, int] = field(default_factory=dict)
    shared: bool | None = None


def library() -> Any:
    """Return `pynvml`, None where there is no such thing on this box. The driver is not spoken to yet."""
    try:
        return import_module("pynvml")
    except ImportError:
        return None


def begun(nvml: Any) -> Any:
    """Given what `library` returned, return it with the driver's library loaded, None where no driver answers; one that
    hangs never returns."""
    if nvml is None:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    return nvml


def binding() -> Any:
    """Return `pynvml` with the driver's library loaded, None where there is no such thing on this box."""
    return begun(library())


def read(nvml: Any) -> Cards:
    """Given what `binding` returned, return what processes hold now. What the driver does not tell is left out."""
    if nvml is None:
        return Cards()
    used: dict[int, int] = {}
    shared: bool | None = None
    with suppress(nvml.NVMLError):
        for index in range(nvml.nvmlDeviceGetCount()):
            card = nvml.nvmlDeviceGetHandleByIndex(index)
            shared = _shares(nvml, card) or bool(shared)
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(card):
                if isinstance(process.usedGpuMemory, int):
                    used[process.pid] = used.get(process.pid, 0) + process.usedGpuMemory
    return Cards(used, shared)


def _shares(nvml: Any, card: Any) -> bool:
    """Whether a card has no memory of its own: the driver then refuses to tell its total, or tells none."""
    try:
        return not nvml.nvmlDeviceGetMemoryInfo(card).total
    except nvml.NVMLError:
        return True
