"""One server as floor.yaml describes it, whichever engine runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GENERATE, EMBED = "generate", "embed"


@dataclass(frozen=True)
class Ranks:
    """One part of a group.

    `rank` is its place among `nodes` boxes (0: the head's), `address` and `port` are where the head's rank is met,
    `tensor` is how many cards share each layer, `stages` into how many stretches the layers are cut.
    """

    rank: int
    nodes: int
    address: str
    port: int
    tensor: int
    stages: int

    @property
    def head(self) -> bool:
        """Whether it is the part that answers."""
        return self.rank == 0


@dataclass(frozen=True)
class Serve:
    """One server. `host` is an IP literal without brackets or a name, `cache_memory` bytes, `drain`, `start` seconds.

    None leaves the choice to the engine; a `drain` of None is for engines that end at once when they are told to.
    `args` are further flags without dashes: True for the bare flag, False for its --no- form, a mapping becomes JSON.
    `task` is generate or embed, `ranks` None for a model that is on one box.
    """

    source: str
    name: str
    host: str
    port: int
    context: int | None = None
    max_requests: int | None = None
    kv_cache: str = "auto"
    utilization: float | None = None
    cache_memory: int | None = None
    drain: float | None = None
    start: float | None = None
    task: str = GENERATE
    ranks: Ranks | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
