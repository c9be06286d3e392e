"""The service: watches every backend, decides, and brings nginx to it. Ends on SIGTERM; the members stay in."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from floor.box import events, files, paths
from floor.box.changes import Changes
from floor.box.locked import mine
from floor.box.notify import Notifier
from floor.errors import FloorError

from . import report
from .announced import Announced
from .catch import Catch
from .decide import Decision, decide
from .front import Front
from .holders import Holders
from .lost import Lost
from .memory import Memory, Seen
from .nginx import Processes
from .settings import Settings
from .sever import sever
from .watches import Watches
from .world import World

STATE_EVERY = 2.0  # seconds between two reports when nothing changes; whoever reads one can tell that the pool lives
SETTLING = 0.05  # seconds between two looks at nginx's workers while a reload is under way


class Service:
    """One run of floor-pool. Given the present keys, each with the one that follows while it is being replaced; none
    where none is asked for."""

    def __init__(
        self, settings: Settings, engine_keys: tuple[str, ...], status_keys: tuple[str, ...], world: World
    ) -> None:
        self._settings, self._world = settings, world
        self._boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self._wake = asyncio.Event()
        self._stopping = False
        former = self._former()
        processes = Processes(paths.under(world.root, paths.NGINX_PID))
        self._front = Front(settings.pools, world.root, world.reload, processes, world.log, former.front)
        self._watches = Watches(settings, engine_keys, status_keys, time.monotonic, self._wake.set, world.log)
        self._holders = Holders(world.root, former.holders, world.log)
        self._announced = Announced(world.root, world.log)
        self._lost = Lost(sever, lambda backend, text: self._say(text, {"backend": backend}))
        self._catch = Catch(world.root, world.log)
        self._memories = {
            one.name: replace(former.memories.get(one.name, Memory()), member=one.name in self._front.members)
            for one in settings.backends
        }
        self._decisions: dict[str, Decision] = {}
        self._reported: Any = None
        self._reported_at = -STATE_EVERY

    async def run(self, notifier: Notifier) -> None:
        """Work until `stop` is called. Raise FloorError if the report cannot be written: nobody could follow then."""
        watching = asyncio.create_task(self._watches.run())
        changes = Changes(paths.under(self._world.root, paths.DRAINS).parent)
        if changes.descriptor is not None:
            asyncio.get_running_loop().add_reader(changes.descriptor, self._changed, changes)
        try:
            await self._step()
            notifier.ready(self._summary())
            while not self._stopping:
                await self._pause()
                if watching.done():
                    watching.result()  # raises what ended it: a fault of ours, and systemd starts us anew
                await self._step()
                notifier.alive(self._summary())
        finally:
            notifier.stopping()
            if changes.descriptor is not None:
                asyncio.get_running_loop().remove_reader(changes.descriptor)
            changes.close()
            watching.cancel()
            await asyncio.gather(watching, self._lost.close(), return_exceptions=True)

    def stop(self) -> None:
        """End `run` soon; who is a member stays one."""
        self._stopping = True
        self._wake.set()

    def _changed(self, changes: Changes) -> None:
        """Something lies there anew where drains lie: whoever waits for one waits no longer than it takes."""
        changes.take()
        self._wake.set()

    async def _pause(self) -> None:
        """Wait for news, at most for the interval."""
        seconds = SETTLING if self._front.rollout.under_way else self._settings.interval
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return
        self._wake.clear()

    async def _step(self) -> None:
        """Decide once for every pool, and do what follows from it."""
        now = time.monotonic()
        for words in self._holders.adopt(self._watches.told()):
            self._say(words, {})
        holders = self._holders.now()
        seen = {one.name: self._watches.seen(one, holders.get(one.name, ())) for one in self._settings.backends}
        before, self._decisions = self._decisions, self._decide(seen, now)
        self._tell(before)
        following = self._watches.following(self._front.following)
        names = frozenset(name for name, one in self._decisions.items() if one.member)
        await self._front.bring(names, now, following, self._announced.now())
        for backend in self._settings.backends:
            answers = self._watches.box_answers(backend)
            self._lost.look(backend, self._decisions[backend.name], box_answers=answers)
        await self._catch.look(self._watches.address(), now)
        self._report(seen)

    def _decide(self, seen: Mapping[str, Seen], now: float) -> dict[str, Decision]:
        decisions: dict[str, Decision] = {}
        for pool in self._settings.pools:
            names = [backend.name for backend in pool.backends]
            memories, decided = decide(
                {name: self._memories[name] for name in names}, {name: seen[name] for name in names}, now
            )
            self._memories |= memories
            decisions |= decided
        return decisions

    def _tell(self, before: Mapping[str, Decision]) -> None:
        """Say who goes in or out, and why. What a restart finds unchanged is not told."""
        for name, decision in self._decisions.items():
            was = before[name].member if name in before else name in self._front.members
            if was != decision.member:
                text = f"{name} is {'in' if decision.member else 'out'}: {decision.reason}: {decision.evidence}"
                self._say(text, {"backend": name, "member": decision.member, "reason": decision.reason})

    def _say(self, text: str, data: Mapping[str, object]) -> None:
        self._world.log(text)
        try:
            events.append("pool", text, data, at=time.time(), root=self._world.root)
        except FloorError as error:
            self._world.log(str(error))

    def _report(self, seen: Mapping[str, Seen]) -> None:
        """Write the report if anything but its time and measurements is another, or the last one grows old."""
        now = report.Now(time.time(), self._boot, time.monotonic(), os.getpid())
        front = self._front
        nginx = (front.rollout, front.told, front.written)
        acknowledged = {one.name: front.acknowledged(one.name) for one in self._settings.backends}
        standing = (nginx, acknowledged, front.serving, self._outlines(seen))
        if standing == self._reported and now.monotonic - self._reported_at < STATE_EVERY:
            return
        document = report.compose(
            now, self._settings.pools, front.serving, self._memories, seen, self._decisions, nginx, acknowledged
        )
        files.write(paths.POOL_STATE, json.dumps(document) + "\n", owner=mine(), root=self._world.root)
        self._reported, self._reported_at = standing, now.monotonic

    def _outlines(self, seen: Mapping[str, Seen]) -> list[tuple[object, ...]]:
        return [(name, one.member, one.reason, seen[name].drains) for name, one in self._decisions.items()]

    def _summary(self) -> str:
        members = self._front.serving
        parts = []
        for pool in self._settings.pools:
            names = [backend.name for backend in pool.backends]
            parts.append(f"{pool.model}: {len(members & set(names))} of {len(names)} in")
        return ", ".join(parts)

    def _former(self) -> report.Former:
        """What the last run has left; without it everything is looked at anew, and nginx is reloaded once."""
        place = paths.under(self._world.root, paths.POOL_STATE)
        try:
            return report.restore(place.read_text(), str(place), self._boot, time.monotonic())
        except FileNotFoundError:
            return report.Former()
        except (OSError, UnicodeDecodeError) as error:
            self._world.log(f"{place}: cannot be read ({error}); starting without it")
        except FloorError as error:
            self._world.log(str(error))
        return report.Former()
