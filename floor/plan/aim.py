"""What a planner is given: what is wanted, what was seen, and who asks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from floor.config.model import Config, ResolvedCopy
from floor.desired import copies, groups
from floor.desired.state import MODES, BoxFacts, BoxState, Kind, Unit
from floor.plan import difference
from floor.plan.difference import FileDifference
from floor.plan.seen import Seen, UnitSeen
from floor.plan.standing import Foreign


@dataclass(frozen=True)
class Part:
    """One engine unit of a backend as it must be, and what floor.yaml says of it: a copy has one, a group several."""

    box: str
    state: Unit
    resolved: ResolvedCopy

    @property
    def unit(self) -> str:
        """The name of its unit."""
        return self.state.name


@dataclass(frozen=True)
class Copy:
    """A managed copy, or a group by its head: its unit, the box it belongs on, and how to ask what runs there now.

    `check` is what the calls engine.check and engine.idle take; empty where nobody knows how to ask. Times in seconds.
    """

    backend: str
    model: str
    box: str
    unit: str
    request_time: float
    check: Mapping[str, Any]

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Every box and unit that it runs in."""
        return ((self.box, self.unit),)


@dataclass(frozen=True)
class Wanted(Copy):
    """A copy or a group that the config wants: its parts, the head first, of which there is one of a copy."""

    parts: tuple[Part, ...]

    @property
    def state(self) -> Unit:
        """The unit of the copy, or of the head."""
        return self.parts[0].state

    @property
    def resolved(self) -> ResolvedCopy:
        """What floor.yaml says of the copy, or of the head."""
        return self.parts[0].resolved

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        return tuple((part.box, part.unit) for part in self.parts)

    @property
    def grouped(self) -> bool:
        """Whether it is a group."""
        return self.state.kind is Kind.GROUP

    def each(self) -> list[Wanted]:
        """Its parts one by one, each as if it were all: for what is asked of every box."""
        return [dataclasses.replace(self, box=part.box, unit=part.unit, parts=(part,)) for part in self.parts]

    def on(self, box: str) -> Part | None:
        """Its part on a box."""
        return next((part for part in self.parts if part.box == box), None)


@dataclass(frozen=True)
class Aim:
    """What is wanted and what was seen. `absent` names the boxes that did not answer, and why.

    `addresses` holds what each box's host resolved to (None: it has no address now), `holder` the name under which this
    operation drains, `foreign` by box what stands in the way and is to be taken over; empty where nothing may be;
    `facts` what the renderer was told of the boxes; `ungated` where a build may serve without a test.
    """

    config: Config
    wanted: Mapping[str, BoxState]
    seen: Mapping[str, Seen]
    absent: Mapping[str, str] = field(default_factory=dict)
    addresses: Mapping[str, str | None] = field(default_factory=dict)
    holder: str = "floor"
    foreign: Mapping[str, tuple[Foreign, ...]] = field(default_factory=dict)
    facts: Mapping[str, BoxFacts] = field(default_factory=dict)
    ungated: bool = False

    @property
    def proxies(self) -> tuple[Seen, ...]:
        """The reachable proxy boxes, in the config's order."""
        return tuple(self.seen[box] for box in self.config.proxy.boxes if box in self.seen)

    @cached_property
    def mode(self) -> str:
        """The mode that is wanted of all boxes."""
        return next((state.mode for state in self.wanted.values()), MODES[0])

    @cached_property
    def copies(self) -> tuple[Wanted, ...]:
        """Every copy and group that is to run in the mode, on boxes that answer; model by model, in the config's order.

        A group of which a box does not answer is none of them: nothing can be done for it.
        """
        return tuple(copy for copy, whole in self._backends if whole and copy.state.runs(self.mode))

    @cached_property
    def sleeping(self) -> tuple[Wanted, ...]:
        """Every copy and group of the other mode, with the parts that are on boxes that answer."""
        return tuple(copy for copy, _ in self._backends if not copy.state.runs(self.mode))

    @cached_property
    def _backends(self) -> tuple[tuple[Wanted, bool], ...]:
        """Every copy and group, and whether all of its boxes answer."""
        found = []
        for model in self.config.models:
            whole = [[copy] for copy in self.config.copies(model) if copy.managed]
            for every in [*whole, self.config.parts(model)]:
                parts = tuple(part for resolved in every if (part := self._part(resolved)))
                if parts:
                    found.append((self._wanted(parts), len(parts) == len(every)))
        return tuple(found)

    def _part(self, resolved: ResolvedCopy) -> Part | None:
        state = self.wanted.get(resolved.box)
        if state is None or resolved.box not in self.seen:
            return None
        return next(
            (Part(resolved.box, unit, resolved) for unit in state.units if unit.backend == resolved.backend), None
        )

    def units(self, copy: Copy) -> list[UnitSeen]:
        """What was seen of the units of a copy or group, those of boxes that answer."""
        return [self.seen[box].unit(unit) for box, unit in copy.places if box in self.seen]

    def running(self, copy: Copy) -> bool:
        """Whether anything of it runs."""
        return any(unit.running for unit in self.units(copy))

    def active(self, copy: Copy) -> bool:
        """Whether all of it is up and warm."""
        return all(unit.active == "active" for unit in self.units(copy))

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
        for part in copy.parts:
            seen = self.seen[part.box]
            unit = seen.unit(part.unit)
            if not unit.running:
                continue
            if why := difference.relaunch(part.state, unit, seen):
                return why
            if unit.argv and part.resolved.key and self._other_key(unit, seen):
                return "the engine key becomes another"
        return None

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
        """Every copy, and part of a group, that is to run in the mode on a box that does not answer."""
        found: list[ResolvedCopy] = []
        for model in self.config.models:
            backends = self.config.backends(model, self.mode)
            names = {one.backend for one in backends}
            parts = [part for part in self.config.parts(model) if part.backend in names]
            found += [*parts, *(copy for copy in backends if copy not in parts)]
        return tuple(copy for copy in found if copy.box in self.absent)

    def knows(self, copy: Copy) -> tuple[Seen, ...]:
        """The reachable proxy boxes whose pool has heard of `copy`."""
        return tuple(seen for seen in self.proxies if copy.backend in seen.pooled(copy.model).get("backends", {}))

    def _wanted(self, parts: tuple[Part, ...]) -> Wanted:
        head = parts[0]
        settings = groups.settings_path if head.state.kind is Kind.GROUP else copies.settings_path
        path = settings(head.resolved.model)
        # What runs was started with the settings that lie there: the wanted ones may name another port.
        check = check_params(self.seen[head.box].texts.get(path))
        if not check and (file := self.wanted[head.box].file(path)):
            check = check_params(file.text)
        return Wanted(
            backend=head.resolved.backend,
            model=head.resolved.model,
            box=head.box,
            unit=head.unit,
            request_time=head.resolved.request_time,
            check=check,
            parts=parts,
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
