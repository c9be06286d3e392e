"""What a leaving copy asks: the proxy boxes' status ports, and its own engine. Nothing but the standard library.

It runs at every stop of an engine, so it must start at once.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floor.agent.leave_decide import Proxy, gone
from floor.box.status_ask import Get, get
from floor.healthcheck.dialects import find

POLL = 0.25  # seconds between two questions to the same


@dataclass(frozen=True)
class Engine:
    """How the copy's engine is asked."""

    backend: str
    url: str
    dialect: str
    key: str | None


def load(engine: Engine, get: Get = get) -> float | None:
    """Return how many requests the engine has, waiting ones too: 0 where nothing answers, None where it does not tell.

    Raise FloorError for a dialect that this version does not know.
    """
    dialect = find(engine.dialect)
    try:
        found = dialect.load(get(f"{engine.url}{dialect.metrics}", engine.key))
    except ConnectionRefusedError:
        return 0
    except OSError:
        return None
    return None if found is None else found.in_flight


class Proxies:
    """Asks the status port of every proxy box again and again, each in a thread of its own: a dead one holds up nobody.

    Given {name: URL}, the status key and the backend.
    """

    def __init__(self, urls: Mapping[str, str], key: str | None, backend: str, get: Get = get) -> None:
        self._key, self._backend, self._get = key, backend, get
        self._told: dict[str, tuple[bool, float]] = dict.fromkeys(urls, (False, float("-inf")))
        self._over = threading.Event()
        for name, url in urls.items():
            threading.Thread(target=self._keep_asking, args=(name, url), daemon=True).start()

    def now(self) -> dict[str, Proxy]:
        """Return what each told last."""
        at = time.monotonic()
        return {name: Proxy(gone, at - heard) for name, (gone, heard) in self._told.items()}

    def close(self) -> None:
        """Ask no more."""
        self._over.set()

    def _keep_asking(self, name: str, url: str) -> None:
        while not self._over.is_set():
            if (out := self._ask(url)) is not None:
                self._told[name] = (out, time.monotonic())
            self._over.wait(POLL)

    def _ask(self, url: str) -> bool | None:
        try:
            status: Any = json.loads(self._get(url, self._key))
            return gone(status, self._backend)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # away, or not what it should be: either way it cannot be waited for
