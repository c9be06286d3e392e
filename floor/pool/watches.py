"""All the watches of one service: which backend is asked how, and which box tells of its unit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from floor.errors import FloorError
from floor.healthcheck.client import make_client
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level

from .group import PartSeen, broken
from .memory import Seen
from .missed import Told
from .settings import Backend, Settings
from .watch import PROBE_TIMEOUT, BackendWatch, BoxWatch, Clock, Unaskable
from .wire import Wire


class Watches:
    """Given the settings, the present keys and those that follow them, a monotonic clock, what to call at news and
    where to log, watch everything."""

    def __init__(
        self,
        settings: Settings,
        engine_keys: tuple[str, ...],
        status_keys: tuple[str, ...],
        clock: Clock,
        changed: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self._interval, self._clock, self._changed = settings.interval, clock, changed
        self._client = make_client(Wire())
        self._backends = {
            backend.name: self._watch(backend, pool.model, engine_keys if backend.key else ())
            for pool in settings.pools
            for backend in pool.backends
        }
        backends = {one.status_url for one in settings.backends if one.status_url is not None}
        backends |= {part.status_url for one in settings.backends for part in one.parts}
        urls = sorted(backends | set(settings.proxies))
        self._models = {one.name: pool.model for pool in settings.pools for one in pool.backends}
        key, other = (*status_keys, "", "")[:2]
        self._boxes = {
            url: BoxWatch(url, key, settings.interval, clock, changed, log, following=other or None) for url in urls
        }
        self._invocations: dict[str, str] = {}

    async def run(self) -> None:
        """Watch until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for backend in self._backends.values():
                    group.create_task(backend.run())
                for box in self._boxes.values():
                    group.create_task(box.run())
        finally:
            await self._client.aclose()

    def seen(self, backend: Backend, drains: tuple[str, ...]) -> Seen:
        """Given a backend and who holds it out, return what is known of it now."""
        box = self._box(backend)
        unit = None if box is None or backend.unit is None else box.unit(backend.unit)
        watch = self._backends[backend.name]
        if unit is not None:
            before = self._invocations.get(backend.name, unit.invocation)
            self._invocations[backend.name] = unit.invocation
            if before != unit.invocation:
                watch.renew()  # another process: what the one before has proven does not count for it
            answers = watch.verdict is not None and watch.verdict.level is Level.GENERATES
            if box is not None:
                box.hurry(unit.name, soon=answers and unit.active == "activating")
        model = self._models[backend.name]
        places = [(part.box, part.unit, self._boxes[part.status_url]) for part in backend.parts]
        own = [] if box is None or backend.unit is None else [(backend.box, backend.unit, box)]
        asked = [of.answered or 0.0 for _, _, of in places or own]
        leaving = next((words for _, name, of in places or own if (words := of.leaving(name))), "")
        return Seen(
            verdict=watch.verdict,
            drains=drains,
            managed=backend.unit is not None,
            unit=unit,
            told=min(asked, default=0.0),
            stall=backend.stall,
            leaving=leaving,
            broken=broken([PartSeen(at, of.unit(name), of.part(model), of.silent()) for at, name, of in places]),
        )

    def told(self) -> list[Told]:
        """What the boxes told last of others that were absent."""
        return [box.told for box in self._boxes.values()]

    def address(self) -> list[Mapping[str, Any] | None]:
        """What each box tells of the shared address; None of one that has not told of late."""
        return [box.address for box in self._boxes.values()]

    def following(self, before: Collection[str]) -> frozenset[str]:
        """Given who took the next engine key before, return who does now."""
        told = {name: watch.follows for name, watch in self._backends.items()}
        return frozenset(name for name, follows in told.items() if (name in before if follows is None else follows))

    def box_answers(self, backend: Backend) -> bool:
        """Whether the backend's box has answered on its status port within the time that a lost backend is found in."""
        box = self._box(backend)
        answered = None if box is None else box.answered
        return answered is not None and self._clock() - answered < PROBE_TIMEOUT + self._interval

    def _box(self, backend: Backend) -> BoxWatch | None:
        return None if backend.status_url is None else self._boxes[backend.status_url]

    def _watch(self, backend: Backend, model: str, keys: tuple[str, ...]) -> BackendWatch | Unaskable:
        try:
            target = Target(
                name=backend.name,
                url=backend.url,
                model=model,
                dialect=backend.dialect,
                key=next(iter(keys), None),
                stall=backend.stall,
                probe_timeout=PROBE_TIMEOUT,
                min_speed=backend.min_speed,
                task=backend.task,
            )
        except FloorError as error:
            return Unaskable(backend.name, backend.url, str(error), self._clock())
        following = replace(target, key=keys[1]) if len(keys) > 1 else None
        return BackendWatch(self._client, target, self._interval, self._clock, self._changed, following)
