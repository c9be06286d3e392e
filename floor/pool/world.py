"""What the service reaches beyond its settings, as one value, so that a test can put it into a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .nginx import Reload


@dataclass(frozen=True)
class World:
    """The root of all paths, how nginx is reloaded, and where log lines go."""

    root: Path
    reload: Reload
    log: Callable[[str], None]
