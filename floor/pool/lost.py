"""What is done when a box is gone: the connections to it are ended, so that nobody waits for the dead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from floor.errors import FloorError
from floor.healthcheck.verdict import Reason

from .decide import Decision
from .settings import Backend
from .sever import Severed
from .standing import Standing

# Seconds between the rounds: the second and third end what old workers of nginx have begun after the first.
PAUSES = (0.0, 1.0, 2.0)

Sever = Callable[[str, int], Awaitable[Severed]]
Tell = Callable[[str, str], None]


class Lost:
    """Ends the connections to each lost backend, once for each time that it is lost; `tell` is given name and words."""

    def __init__(self, sever: Sever, tell: Tell) -> None:
        self._sever, self._tell = sever, tell
        self._known: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def look(self, backend: Backend, decision: Decision, *, box_answers: bool) -> None:
        """Given what was decided on a backend, and whether its box still answers elsewhere, do what is due.

        A box that answers ends connections by itself: its kernel is there, only the engine is not.
        """
        lost = decision.standing is Standing.GONE and decision.reason == Reason.UNREACHABLE
        if not lost:
            self._known.discard(backend.name)
        elif backend.name not in self._known and not box_answers:
            self._known.add(backend.name)
            task = asyncio.create_task(self._end(backend))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop what is under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self, backend: Backend) -> None:
        ended = 0
        try:
            for number, pause in enumerate(PAUSES):
                await asyncio.sleep(pause)
                done = await self._sever(backend.address, backend.port)
                ended += done.before - done.after
                if number == 0:
                    self._tell(backend.name, f"{backend.name} is unreachable: ended {ended} connections to it")
        except FloorError as error:
            self._tell(
                backend.name, f"{backend.name} is unreachable, and requests on it hang until they time out: {error}"
            )
