"""The service: looks at every copy, each by itself, and serves what is known. A page never waits for a copy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import httpx

from floor.box import files, paths
from floor.box.locked import mine
from floor.box.notify import Notifier
from floor.errors import FloorError

from . import records, status_page
from .boxes import Boxes
from .copies import HOLD, Copy, Gone, own, parts
from .here import Here
from .look import look
from .merge import COPY, MODEL, merge
from .page import CONTENT_TYPE, write
from .port import HEAD_LIMIT, Pages, Port
from .settings import Settings
from .values import Family
from .watch import Watch

WITHIN = 3.0  # seconds that one look may take, body included; shorter where looks follow faster
KEEP_EVERY = 60.0  # seconds between two records of what was counted; one more is made at the end
BIND_EVERY = 1.0  # seconds between two tries to listen, while the box's own address is not up yet
ALIVE_EVERY = 5.0
MOST_ON_LOOKERS = 256  # requests of the status page at once; nginx sends them on, and each takes milliseconds

Log = Callable[[str], None]


class Service:
    """One run of floor-metrics. Given its settings, the engine keys to try in turn, what tells of this box, the HTTP
    client, the root of all paths, where to say what goes wrong, and the status keys to try in turn."""

    def __init__(
        self,
        settings: Settings,
        keys: Sequence[str],
        here: Here,
        client: httpx.AsyncClient,
        root: Path,
        log: Log,
        clock: Callable[[], float] = time.monotonic,
        status_keys: Sequence[str] = (),
    ) -> None:
        self._settings, self._keys, self._here, self._client = settings, tuple(keys), here, client
        self._root, self._log, self._clock = root, log, clock
        self._stop = asyncio.Event()
        former = self._former()
        self.copies = [Copy(backend) for backend in settings.backends]
        for copy in self.copies:
            before = former.pop(copy.backend.name, None)
            if before is not None and before.model == copy.backend.model:
                copy.past = before.past
        models = {backend.model for backend in settings.backends}
        self._gone: list[Gone] = [one for one in former.values() if one.model in models]
        self._made: tuple[float, list[Family]] = (-1.0, [])
        self._news = 0
        self._unkept = ""
        boxes = Boxes(settings.boxes, status_keys, client, clock)
        self._watch_on = Watch(settings.box, self.copies, settings.interval, boxes, root, clock)

    async def run(self, notifier: Notifier) -> None:
        """Look and serve until `stop`."""
        tasks = [asyncio.create_task(self._watch(copy)) for copy in self.copies]
        tasks += [asyncio.create_task(self._here.run(self._stop))]
        if self._settings.port is not None:
            tasks.append(asyncio.create_task(self._listen(notifier)))
        if self._settings.page:
            tasks += [asyncio.create_task(self._show()), asyncio.create_task(self._watch_on.run(self._stop))]
        kept = self._clock()
        # Ready before it listens: a box's start must not wait for its network.
        notifier.ready(f"waiting for {self._settings.listen}")
        try:
            while not self._stop.is_set():
                await self._sleep(min(ALIVE_EVERY, notifier.watchdog_every or ALIVE_EVERY))
                for task in tasks:
                    if task.done() and not task.cancelled():
                        task.result()  # raises what ended it: a fault of ours, and systemd starts us anew
                notifier.alive()
                if self._clock() - kept >= KEEP_EVERY:
                    self.keep()
                    kept = self._clock()
        finally:
            notifier.stopping()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._client.aclose()
            self.keep()

    def stop(self) -> None:
        """End `run` soon."""
        self._stop.set()

    @property
    def pages(self) -> Pages:
        """All that is served: everything, or what goes by floor's names alone."""
        return {
            "/metrics": (CONTENT_TYPE, lambda: self.page().encode()),
            "/metrics/floor": (CONTENT_TYPE, lambda: self.page(engines=False).encode()),
        }

    def page(self, *, engines: bool = True) -> str:
        """Return the page as things are known now; without the engines' own families if asked for.

        It is made of what is in memory: whatever copies do, it takes as long.
        """
        now = self._clock()
        families = [*self._here.families(), *own(self.copies, now), *self._merged(now)]
        if not engines:
            families = [family for family in families if _ours(family.name)]
        return write(families)

    def _merged(self, now: float) -> list[Family]:
        """The families of all copies, made once for all who ask between two looks."""
        if now - self._made[0] > 1.0 or self._news:
            found = merge(parts(self.copies, self._gone, now, HOLD * self._settings.interval + WITHIN))
            self._made, self._news = (now, found), 0
        return self._made[1]

    async def _watch(self, copy: Copy) -> None:
        """Look at one copy at each interval; a look is over before the next one begins."""
        interval = self._settings.interval
        while not self._stop.is_set():
            began = self._clock()
            found = await look(
                self._client,
                copy.backend,
                self._keys,
                copy.reader,
                clock=self._clock,
                within=min(WITHIN, interval),
            )
            was = copy.latest
            copy.take(found, self._clock())
            if self._settings.page:
                self._watch_on.take(copy)
            self._news += 1
            if copy.latest.reason != was.reason:
                words = "can be read" if copy.latest.up else f"cannot be read: {copy.latest.detail}"
                self._log(f"floor-metrics: {copy.backend.name}: metrics {words}")
            await self._sleep(max(0.0, interval - (self._clock() - began)))

    async def _listen(self, notifier: Notifier) -> None:
        settings, port, said = self._settings, Port(self.pages), ""
        while True:
            try:
                server = await asyncio.start_server(
                    port.answer, settings.listen, settings.port, limit=port.head_limit, reuse_address=True
                )
                break
            except OSError as error:
                words = f"{settings.listen}:{settings.port}: cannot listen yet ({error.strerror}); trying again"
                if words != said:
                    self._log(f"floor-metrics: {words}")
                said = words
                await asyncio.sleep(BIND_EVERY)
        notifier.alive(f"listening on {settings.listen}:{settings.port}")
        async with server:
            await server.serve_forever()

    async def _show(self) -> None:
        """Serve the status page to this box's nginx, by a socket that its group alone may open."""
        place = paths.under(self._root, paths.METRICS_SOCKET)
        place.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(
            Port(status_page.pages(self._watch_on), MOST_ON_LOOKERS).answer, place, limit=HEAD_LIMIT
        )
        place.chmod(0o660)
        async with server:
            await server.serve_forever()

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

    def keep(self) -> None:
        """Write down what was counted. Where that cannot be, it is said once, and what is known is served all the same:
        who ended here would begin again from an older record."""
        said = ""
        try:
            text = records.compose(self.copies, self._gone)
            files.write(paths.METRICS_STATE, text + "\n", owner=mine(), root=self._root)
        except FloorError as error:
            said = f"floor-metrics: {error}; a restart of this service would count from an older record"
            if said != self._unkept:
                self._log(said)
        self._unkept = said

    def _former(self) -> dict[str, Gone]:
        place = paths.under(self._root, paths.METRICS_STATE)
        try:
            return records.restore(place.read_text(), str(place))
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            self._log(f"floor-metrics: {place}: cannot be read ({error}); counting anew")
        except FloorError as error:
            self._log(f"floor-metrics: {error}")
        return {}


def _ours(name: str) -> bool:
    """Whether a name is floor's: all but the engines' own, and their sums."""
    return name.startswith("floor_") and (":" not in name or name.startswith((COPY, MODEL)))
