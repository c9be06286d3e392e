"""What a planner is given: what is wanted, what was seen, and who asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from floor.box import paths
from floor.config.model import Config
from floor.desired.state import BoxState, Kind, Unit
from floor.plan.seen import Seen


@dataclass(frozen=True)
class Copy:
    """A managed copy: its unit, the box it belongs on, and how to ask it. `check` is what agent calls take."""

    backend: str
    model: str
    box: str
    unit: Unit
    request_time: float
    start_time: float
    check: Mapping[str, Any]


@dataclass(frozen=True)
class Aim:
    """What is wanted and what was seen. `absent` names the boxes that did not answer, and why."""

    config: Config
    wanted: Mapping[str, BoxState]
    seen: Mapping[str, Seen]
    absent: Mapping[str, str] = field(default_factory=dict)
    holder: str = "floor"

    @property
    def proxies(self) -> tuple[Seen, ...]:
        """The reachable proxy boxes, in the config's order."""
        return tuple(self.seen[box] for box in self.config.proxy.boxes if box in self.seen)

    def copies(self) -> tuple[Copy, ...]:
        """Every managed copy that the config wants, model by model, in the config's order of boxes."""
        return tuple(
            copy
            for model in self.config.models
            for resolved in self.config.copies(model)
            if resolved.managed and resolved.box in self.wanted
            for copy in [self._copy(resolved.backend, resolved)]
        )

    def serving(self, model: str) -> frozenset[str]:
        """The backends of `model` that every reachable proxy box has in its pool, drained ones not among them."""
        pools = [set(seen.serving(model)) for seen in self.proxies]
        return frozenset(set.intersection(*pools)) if pools else frozenset()

    def knows(self, backend: str, model: str) -> tuple[Seen, ...]:
        """The reachable proxy boxes whose pool has heard of `backend`."""
        known = []
        for seen in self.proxies:
            pool = ((seen.pool or {}).get("pools") or {}).get(model, {})
            if backend in pool.get("backends", {}):
                known.append(seen)
        return tuple(known)

    def _copy(self, backend: str, resolved: Any) -> Copy:
        state = self.wanted[resolved.box]
        unit = next(unit for unit in state.units if unit.kind is Kind.COPY and unit.backend == backend)
        return Copy(
            backend=backend,
            model=resolved.model,
            box=resolved.box,
            unit=unit,
            request_time=resolved.request_time,
            start_time=resolved.start_time,
            check=check_params(state.file(settings_path(resolved.model)).text),  # type: ignore[union-attr] # build() gives every copy its settings
        )


def settings_path(model: str) -> str:
    """Given a model's name, return where the settings of its copy lie on a box."""
    return str(paths.ENGINES / f"{model}.json")


def check_params(settings: str) -> dict[str, Any]:
    """Given the text of a copy's settings, return what the calls engine.check and engine.idle take."""
    found = json.loads(settings)
    return {
        "backend": found["backend"],
        "url": found["url"],
        "model": found["model"],
        "dialect": found["dialect"],
        "key": found["key_file"] is not None,
    }
