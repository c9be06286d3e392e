"""Asks the status port of a box what its units do. A tiny client: it asks twice a second, for ever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from floor.box import parts
from floor.box.drains import outlives
from floor.errors import FloorError

from .memory import UnitSeen
from .missed import Told

_MOST = 256 * 1024  # bytes of an answer; a unit takes about 300


class StrangerError(FloorError):
    """The key is not the one that is asked for there."""


@dataclass(frozen=True)
class Status:
    """What a box said of its units, and when it was asked, by the asking box's monotonic clock.

    `leaving` are the units that finish what they have before they are stopped, `stopping` is whether the box goes down,
    `groups` its parts of groups by model.
    """

    asked: float
    units: Mapping[str, UnitSeen]
    leaving: frozenset[str] = frozenset()
    stopping: bool = False
    told: Told = field(default_factory=Told)
    address: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, parts.Told] = field(default_factory=dict)


async def ask(url: str, key: str, *, asked: float, within: float) -> Status:
    """Given the address of a status port, its key and the time now, return its answer.

    Raise FloorError if there is no proper one within so many seconds, connecting included.
    """
    try:
        async with asyncio.timeout(within):
            answer = await _get(url, key)
    except TimeoutError:
        raise FloorError(f"{url}: no answer in {within:g} s; is the box up, and floor-agent.service on it?") from None
    except (OSError, asyncio.IncompleteReadError) as error:
        words = getattr(error, "strerror", None) or str(error)
        raise FloorError(f"{url}: {words}; is floor-agent.service running there?") from error
    return read(answer, url, asked)


def read(answer: bytes, url: str, asked: float) -> Status:
    """Given all bytes of the answer and when it was asked for, return what is in it.

    What an older release of floor does not tell is not so. Raise FloorError if it is not a status port's answer.
    """
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if len(status) < 2 or not status[0].startswith(b"HTTP/"):
        raise FloorError(f"{url}: answers {answer[:40]!r}, not HTTP; does something else listen on the status port?")
    if status[1] == b"401":
        raise StrangerError(f"{url}: answers 401; the boxes' status keys differ, `floor deploy` makes them one")
    if status[1] != b"200":
        raise FloorError(f"{url}: answers {status[1].decode('ascii', 'replace')}; look at floor-agent.service there")
    try:
        told = json.loads(body)
        units = {name: _unit(name, facts) for name, facts in told["units"].items()}
        leaving, stopping = frozenset(told.get("leaving") or ()), told.get("stopping") is True
        shared = told.get("address") or {}
        return Status(asked, units, leaving, stopping, _told(told), address=shared, groups=_groups(told))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FloorError(f"{url}: answers no status ({error!r:.80}); run `floor deploy` for that box") from error


def _unit(name: str, facts: Mapping[str, Any]) -> UnitSeen:
    active, sub, result, invocation = (facts[key] for key in ("active", "sub", "result", "invocation"))
    for text in (active, sub, result, invocation):
        if not isinstance(text, str):
            raise TypeError(f"{name}: found {text!r}")
    return UnitSeen(name, active, sub, result, invocation)


def _groups(status: Mapping[str, Any]) -> dict[str, parts.Told]:
    found = {model: parts.read(status, model) for model in status.get("groups") or {}}
    return {model: told for model, told in found.items() if told is not None}


def _told(status: Mapping[str, Any]) -> Told:
    absences = {
        backend: tuple(one["holder"] for one in held if one["epoch"] is None and outlives(one["holder"]))
        for backend, held in (status.get("drains") or {}).items()
    }
    epoch = int((status.get("operation") or {}).get("epoch", 0))
    return Told(epoch, {backend: holders for backend, holders in absences.items() if holders})


async def _get(url: str, key: str) -> bytes:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=_MOST)
    try:
        writer.write(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {key}\r\n"
            "Accept: application/json\r\nConnection: close\r\n\r\n".encode()
        )
        answer = bytearray()
        while chunk := await reader.read(_MOST):
            answer += chunk
            if len(answer) > _MOST:
                raise FloorError(f"{url}: answers more than {_MOST} bytes; does something else listen there?")
        return bytes(answer)
    finally:
        writer.transport.abort()  # nothing is left to be said, and a box that is gone would keep a proper end waiting
