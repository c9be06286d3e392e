"""Asks the boxes of a group's other parts, all at once, and keeps for how long each has been silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from floor.box import parts
from floor.box.status_ask import Get, MuteError, StrangerError, get
from floor.errors import FloorError

from .decide import Look
from .settings import Group, Other

Clock = Callable[[], float]
Found = tuple[parts.Told | None, bool, bool]


class Others:
    """The other parts of one group. Given the group, and a monotonic clock."""

    def __init__(self, group: Group, clock: Clock, get: Get = get) -> None:
        self._group, self._clock, self._get = group, clock, get
        self._away: dict[str, float] = {}
        self._mute: dict[str, float] = {}
        self._threads = ThreadPoolExecutor(max_workers=len(group.others))

    def look(self, keys: Sequence[str]) -> dict[str, Look]:
        """Given the status key and the one that may follow it, ask every box once; return what is known of each.

        A silence is counted from the first question that it left open, not from the last answer: this process may have
        slept in between.
        """
        began = self._clock()
        asked = list(self._threads.map(lambda other: self._ask(other, keys), self._group.others))
        now = self._clock()
        found = {}
        for other, (told, there, answered) in zip(self._group.others, asked, strict=True):
            away = _run(self._away, other.box, began, now, goes_on=not there)
            mute = _run(self._mute, other.box, began, now, goes_on=there and not answered)
            found[other.box] = Look(told, away, mute)
        return found

    def forget(self) -> None:
        """Another start of the own part: how long others were silent before it says nothing."""
        self._away.clear()
        self._mute.clear()

    def close(self) -> None:
        """Ask no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, other: Other, keys: Sequence[str]) -> Found:
        """What it tells; whether there is a way to it; whether it answered."""
        for key in keys:
            try:
                status = dict(json.loads(self._get(other.status_url, key)))
                told = parts.read(status, self._group.model)
            except StrangerError:
                continue
            except (ConnectionRefusedError, MuteError, FloorError, ValueError, TypeError):
                break
            except OSError:
                return None, False, False
            # A box that tells of groups and not of this one holds no part of it any more: a deployment retires it.
            return told, True, told is not None or isinstance(status.get("groups"), dict)
        return None, True, False


def _run(since: dict[str, float], box: str, began: float, now: float, *, goes_on: bool) -> float:
    if not goes_on:
        since.pop(box, None)
        return 0.0
    return max(now - since.setdefault(box, began), 1e-3)
