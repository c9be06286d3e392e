"""/run/floor/watchdog/state.json: what one run leaves for the next, and for whoever looks. Gone at a reboot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import mine
from floor.notify import decide as notify

from . import memory
from .memory import Memory


@dataclass(frozen=True)
class State:
    """Memories by unit, what was told to people, and the last decisions by backend, as `floor watchdog` shows them.

    `foreign` are the lines on what somebody else has against our units, `sought` when they were looked for (monotonic).
    """

    memories: Mapping[str, Memory] = field(default_factory=dict)
    told: notify.Told = notify.NOTHING
    decisions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()
    sought: float | None = None


def read(root: Path, boot: str) -> State:
    """Given the root of all paths and this boot's id, return what the last run left; nothing of another boot counts.

    A file that is broken counts as none: everything in it is seen again.
    """
    try:
        found = json.loads(paths.under(root, paths.WATCHDOG_STATE).read_text())
        told = notify.from_json(found["told"])
        if found["boot"] != boot:
            return State(told=told)
        memories = {str(unit): memory.from_json(one) for unit, one in found["memories"].items()}
        sought = None if found["sought"] is None else float(found["sought"])
        return State(memories, told, dict(found["decisions"]), tuple(map(str, found["foreign"])), sought)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return State()


def write(state: State, root: Path, boot: str, at: float) -> None:
    """Given the state, the root, this boot's id and unix seconds, write it. Raise FloorError if it cannot be."""
    document = {
        "at": round(at, 3),
        "boot": boot,
        "memories": {unit: memory.as_json(one) for unit, one in state.memories.items()},
        "told": notify.as_json(state.told),
        "decisions": state.decisions,
        "foreign": list(state.foreign),
        "sought": state.sought,
    }
    files.write(paths.WATCHDOG_STATE, json.dumps(document) + "\n", owner=mine(), root=root)
