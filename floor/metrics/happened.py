"""What floor's services did on this box, counted from its events. Pure, but for the reading of the file."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .values import Family, Kind, Labels

_MOST = 2000  # label sets


class Happened:
    """Counts events of the file given. It is bounded, and its older half goes now and then: what was counted stays."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._at = (-1, 0)  # inode, bytes read
        self._newest = -1.0
        self._all: Counter[Labels] = Counter()
        self._pool: Counter[Labels] = Counter()
        self._guard: Counter[Labels] = Counter()
        self._operations: Counter[Labels] = Counter()
        self._epochs: set[int] = set()  # each step of an operation is an event

    def skip(self) -> None:
        """Pass over what is there already: it happened before anybody counted."""
        self.look()
        for counts in (self._all, self._pool, self._guard, self._operations):
            counts.clear()

    def look(self) -> None:
        """Count what is new in the file. Without it, or where it cannot be read, nothing is."""
        try:
            with self._place.open("rb") as file:
                inode, end = _identity(file.fileno())
                same = self._at[0] == inode and self._at[1] <= end
                file.seek(self._at[1] if same else 0)
                data = file.read()
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._at = (inode, (self._at[1] if same else 0) + len(whole))
        before = self._newest
        for event in _events(whole.splitlines()):
            at = event.get("at")
            if not isinstance(at, int | float) or (not same and at <= before):
                continue  # the file was replaced: what it still has of before was counted
            self._newest = max(self._newest, float(at))
            self._count(event)

    def _count(self, event: Mapping[str, Any]) -> None:
        who, data = str(event.get("who")), event.get("data")
        if len(self._all) + len(self._pool) + len(self._guard) > _MOST:
            return
        # A person's or an operation's events carry a name and a host.
        self._all[(("who", who if who in SERVICES else TASKS.get(who, "operation")),)] += 1
        if not isinstance(data, dict):
            return
        if who == "pool" and isinstance(data.get("member"), bool):
            change = "in" if data["member"] else "out"
            self._pool[_labels(change=change, copy=data.get("backend"), reason=data.get("reason"))] += 1
        elif who == "watchdog" and data.get("action", "none") != "none":
            self._guard[_labels(action=data["action"], copy=data.get("backend"), service=who)] += 1
        elif who == "guard" and "unit" in data:
            self._guard[_labels(action=_guards(event, data), copy=data["unit"], service=who)] += 1
        elif who == "group" and "model" in data:
            self._guard[_labels(action="end", copy=data["model"], service=who)] += 1
        elif who not in SERVICES and isinstance(data.get("epoch"), int) and data["epoch"] not in self._epochs:
            self._epochs.add(data["epoch"])
            self._operations[_labels(verb=data.get("verb"))] += 1

    def families(self) -> list[Family]:
        """What was counted, as families of the page."""
        return [
            _family("floor_events_total", "Events of this box, by the service that wrote them.", self._all),
            _family("floor_pool_changes_total", "Copies that this box's pool took in or out, and why.", self._pool),
            _family("floor_decisions_total", "What guard, watchdog and group did to engines of this box.", self._guard),
            _family("floor_operations_total", "Operations of people that changed this box.", self._operations),
        ]


SERVICES = ("pool", "guard", "watchdog", "notify", "group")
TASKS = {"floor-fetch": "fetch", "floor-tooltest": "tooltest"}


def _labels(**words: object) -> Labels:
    return tuple(sorted((name, str(word)) for name, word in words.items()))


def _guards(event: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """What the guard did: it tells the memory that was left when it takes an engine, not when it lets one go."""
    if "available" not in data:
        return "release"
    return "would_kill" if str(event.get("text")).startswith("would") else "kill"


def _family(name: str, words: str, counts: Counter[Labels]) -> Family:
    return Family(name, Kind.COUNTER, words, {labels: float(count) for labels, count in counts.items()})


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_ino, found.st_size


def _events(lines: Iterable[bytes]) -> Iterable[Mapping[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event
