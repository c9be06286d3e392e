"""What a planner is given: what is wanted, what was seen, and who asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from floor.config.model import Config, ResolvedCopy
from floor.desired.copies import settings_path
from floor.desired.state import BoxFacts, BoxState, Kind, Unit
from floor.plan import difference
from floor.plan.difference import FileDifference
from floor.plan.seen import Seen, UnitSeen
from floor.plan.standing import Foreign


@dataclass(frozen=True)
class Copy:
    """A managed copy: its unit, the box it belongs on, and how to ask what runs there now.

    `check` is what the calls engine.check and engine.idle take; empty where nobody knows how to ask. Times in seconds.
    """

    backend: str
    model: str
    box: str
    unit: str
    request_time: float
    check: Mapping[str, Any]


@dataclass(frozen=True)
class Wanted(Copy):
    """A copy that the config wants: its unit as it must be, and all that floor.yaml says of it."""

    state: Unit
    resolved: ResolvedCopy


@dataclass(frozen=True)
class Aim:
    """What is wanted and what was seen. `absent` names the boxes that did not answer, and why.

    `addresses` holds what each box's host resolved to (None: it has no address now), `holder` the name under which this
    operation drains, `foreign` by box what stands in the way and is to be taken over; empty where nothing may be;
    `facts` what the renderer was told of the boxes.
    """

    config: Config
    wanted: Mapping[str, BoxState]
    seen: Mapping[str, Seen]
    absent: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str | None] = field(default_factory=dict)
    holder: str = "floor"
    foreign: Mapping[str, tuple[Foreign, ...]] = field(default_factory=dict)
    facts: Mapping[str, BoxFacts] = field(default_factory=dict)

    @property
    def proxies(self) -> tuple[Seen, ...]:
        """The reachable proxy boxes, in the config's order."""
        return tuple(self.seen[box] for box in self.config.proxy.boxes if box in self.seen)

    @cached_property
    def copies(self) -> tuple[Wanted, ...]:
        """Every copy that the config wants on a box that answers, model by model, in the config's order."""
        return tuple(
            self._copy(resolved)
            for model in self.config.models
            for resolved in self.config.copies(model)
            if resolved.managed and resolved.box in self.wanted and resolved.box in self.seen
        )

    @cached_property
    def differences(self) -> dict[str, list[FileDifference]]:
        """The files that are not as wanted, on every box that answers."""
        return {box: difference.files(self.wanted[box], seen) for box, seen in self.seen.items()}

    def differing(self, box: str, unit: str | None) -> list[FileDifference]:
        """Those of a box's files that are not as wanted and belong to one copy's unit; for None to no copy."""
        return [each for each in self.differences[box] if difference.belongs_to(each.path) == unit]

    @cached_property
    def keyed(self) -> Seen | None:
        """The box whose keys all others get: the first proxy box that has keys, else the first that may make some."""
        order = [*self.proxies, *(seen for box, seen in self.seen.items() if box not in self.config.proxy.boxes)]
        return next((seen for seen in order if seen.secrets), order[0] if order else None)

    @cached_property
    def rekeyed(self) -> tuple[str, ...]:
        """The boxes that get other keys than they have. What runs there has to read them."""
        source = self.keyed
        if source is None:
            return ()
        return tuple(box for box, seen in self.seen.items() if source.secrets is None or seen.secrets != source.secrets)

    @cached_property
    def replaced(self) -> dict[str, str]:
        """The copies whose running process must be replaced, and why."""
        return {copy.backend: why for copy in self.copies if (why := self._relaunch(copy))}

    def _relaunch(self, copy: Wanted) -> str | None:
        seen = self.seen[copy.box]
        unit = seen.unit(copy.unit)
        if not unit.running:
            return None
        why = difference.relaunch(copy.state, unit, seen)
        return why or (
            "the engine key becomes another"
            if unit.argv and copy.resolved.key and self._other_key(unit, seen)
            else None
        )

    def _other_key(self, unit: UnitSeen, seen: Seen) -> bool:
        """Whether a running engine was given another key than engines are to have; while a key is being replaced, than
        the one that follows."""
        source = self.keyed
        if source is None:
            return False
        wanted, has = source.start_key, unit.key or seen.keys.get("engine")
        if source.secrets is None or wanted is None or has is None:
            return seen.box in self.rekeyed
        return bool(wanted != has)

    @cached_property
    def rotating(self) -> frozenset[str]:
        """Which keys are being replaced: `engine`, `status`."""
        return frozenset((self.keyed.keys.get("next") or {}) if self.keyed else ())

    def away(self) -> tuple[ResolvedCopy, ...]:
        """Every copy that the config wants on a box that does not answer."""
        every = (copy for model in self.config.models for copy in self.config.copies(model))
        return tuple(copy for copy in every if copy.box in self.absent)

    def knows(self, copy: Copy) -> tuple[Seen, ...]:
        """The reachable proxy boxes whose pool has heard of `copy`."""
        return tuple(seen for seen in self.proxies if copy.backend in seen.pooled(copy.model).get("backends", {}))

    def _copy(self, resolved: ResolvedCopy) -> Wanted:
        state = self.wanted[resolved.box]
        unit = next(unit for unit in state.units if unit.kind is Kind.COPY and unit.backend == resolved.backend)
        path = settings_path(resolved.model)
        # What runs was started with the settings that lie there: the wanted ones may name another port.
        check = check_params(self.seen[resolved.box].texts.get(path))
        if not check and (file := state.file(path)):
            check = check_params(file.text)
        return Wanted(
            backend=resolved.backend,
            model=resolved.model,
            box=resolved.box,
            unit=unit.name,
            request_time=resolved.request_time,
            check=check,
            state=unit,
            resolved=resolved,
        )


def check_params(settings: str | None) -> dict[str, Any]:
    """Given the text of a copy's settings, return what the calls engine.check and engine.idle take.

    Empty where there is no text, or one that somebody broke.
    """
    try:
        found = json.loads(settings) if settings else {}
        asked = {key: found[key] for key in ("backend", "url", "model", "dialect")}
        task = {"task": found["task"]} if "task" in found else {}
        return {**asked, **task, "key": found["key_file"] is not None}
    except (ValueError, KeyError, TypeError):
        return {}
