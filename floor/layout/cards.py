"""Cards: memory, bandwidth and compute as their makers state them. What a box has measured itself goes before these."""

from __future__ import annotations

import re
from dataclasses import dataclass

from floor.errors import UsageError
from floor.sizes import GIB

LPDDR, GDDR, HBM, APPLE, DDR = "lpddr", "gddr", "hbm", "apple", "ddr"
CPU = "cpu"  # a box whose processor does it


@dataclass(frozen=True)
class Card:
    """A GPU, or a chip whose GPU shares its machine's memory (`unified`).

    `memory`: bytes that its driver shows (GB10: MemTotal); `bandwidth`: bytes a second; `compute`: operations a second
    in 16 bits, dense; `kind` of memory: what its efficiency and its fixed cost go by; `taken`: bytes that other engines
    of the same layout have on it; `others`: bytes that programs other than floor's engines have on it, where it has a
    memory of its own.
    """

    name: str
    memory: float
    bandwidth: float
    compute: float
    kind: str
    unified: bool = False
    taken: float = 0.0
    others: float = 0.0


def _card(name: str, gib: float, gbs: float, tflops: float, kind: str, *, unified: bool = False) -> Card:
    return Card(name, gib * GIB, gbs * 1e9, tflops * 1e12, kind, unified)


# GiB as shown by the driver, GB/s and TFLOPS (16 bits, dense, accumulated in 32) from the makers' data sheets:
# nvidia.com/en-us/data-center, nvidia.com/en-us/geforce, NVIDIA's Ampere, Ada and Blackwell architecture papers,
# apple.com/mac-studio/specs. An M3 Ultra lets its GPU have three quarters of the memory.
CARDS: dict[str, Card] = {
    card.name: card
    for card in (
        _card("gb10", 121.7, 273, 125, LPDDR, unified=True),
        _card("thor", 122.8, 273, 250, LPDDR, unified=True),
        _card("m3-ultra-512", 384, 819, 57, APPLE, unified=True),
        _card("m3-ultra-256", 192, 819, 57, APPLE, unified=True),
        _card("m4-max-128", 96, 546, 34, APPLE, unified=True),
        _card("rtx-3060", 11.6, 360, 51, GDDR),
        _card("rtx-3090", 23.6, 936, 71, GDDR),
        _card("rtx-4060-ti-16", 15.6, 288, 88, GDDR),
        _card("rtx-4090", 23.5, 1008, 165, GDDR),
        _card("rtx-5090", 31.4, 1792, 210, GDDR),
        _card("rtx-a6000", 47.4, 768, 155, GDDR),
        _card("rtx-6000-ada", 47.4, 960, 182, GDDR),
        _card("rtx-pro-6000", 94.9, 1792, 252, GDDR),
        _card("l4", 22.0, 300, 121, GDDR),
        _card("l40s", 44.4, 864, 362, GDDR),
        _card("a100-80", 79.1, 2039, 312, HBM),
        _card("h100-pcie", 79.1, 2000, 756, HBM),
        _card("h100-sxm", 79.1, 3350, 989, HBM),
        _card("h200", 139.8, 4800, 989, HBM),
        _card(CPU, 64, 51.2, 1, DDR, unified=True),  # two channels of DDR4-3200
    )
}
# What drivers call them, in lower case -> the name above. The first that is in the driver's name counts.
_DRIVERS = (
    ("gb10", "gb10"),
    ("thor", "thor"),
    ("m3 ultra", "m3-ultra-256"),
    ("m4 max", "m4-max-128"),
    ("rtx pro 6000", "rtx-pro-6000"),
    ("rtx 6000 ada", "rtx-6000-ada"),
    ("rtx a6000", "rtx-a6000"),
    ("h100 pcie", "h100-pcie"),
    ("h100 80gb hbm3", "h100-sxm"),
    ("h200", "h200"),
    ("a100", "a100-80"),
    ("l40s", "l40s"),
    ("nvidia l4", "l4"),
    ("4060 ti", "rtx-4060-ti-16"),
    ("3060", "rtx-3060"),
    ("3090", "rtx-3090"),
    ("4090", "rtx-4090"),
    ("5090", "rtx-5090"),
)


def named(name: str) -> Card:
    """Given a card's name in the table, return it. Raise UsageError for one that is not in it."""
    found = CARDS.get(name.lower())
    if found is None:
        raise UsageError(f"card {name!r}: it is not in the table; write one of {', '.join(CARDS)}")
    return found


def told(name: str) -> Card | None:
    """Given what a driver calls a card, return that of the table, None where it has none. A GeForce is told from a
    card for laptops, which is another one."""
    plain = re.sub(r"\s+", " ", name.lower())
    if "laptop" in plain or "max-q" in plain:
        return None
    return next((CARDS[key] for words, key in _DRIVERS if words in plain), None)
