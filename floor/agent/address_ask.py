"""Asks the other proxy boxes whether they are ready to go on with the connections of a box that leaves."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.box.address import Peer, Settings
from floor.box.status_ask import Get, either, get
from floor.errors import FloorError

UNIT = "floor-address.service"
POLL = 0.2
STARTING = ("activating", "reloading")
SILENT = 3.0  # seconds for a box that does not tell: it may be gone


def catches(status: Mapping[str, Any], own: str) -> bool | None:
    """Given a box's status and the hardware address of the one that leaves, return whether it is ready to go on with
    what that one has; None for a box that will not take the address: keepalived does not run there."""
    try:
        active = status["units"].get(UNIT, {}).get("active")
        if active != "active":
            return False if active in STARTING else None
        return bool((status.get("address") or {}).get("catches") == own)
    except (KeyError, TypeError, AttributeError):
        return None


class Peers:
    """Asks each until `over`, in a thread of its own: a dead one holds up nobody."""

    def __init__(self, settings: Settings, own: str, root: Path, over: threading.Event, get: Get = get) -> None:
        self._own, self._over = own, over
        self._told: dict[str, bool | None] = {}
        self._names = [peer.box for peer in settings.peers]
        key, following = _secret(settings.status_key_file, root), _secret(paths.STATUS_NEXT, root)
        self._key, self._get = key, either({key: following} if key and following else {}, get)
        for peer in settings.peers:
            threading.Thread(target=self._ask, args=(peer,), daemon=True).start()

    @property
    def caught(self) -> list[str]:
        """The boxes that are ready, as they said last."""
        return [name for name in self._names if self._told.get(name)]

    def ready(self, waited: float) -> bool:
        """Given the seconds since they were asked first, return whether nobody has to be waited for any more."""
        silent = None if waited >= SILENT else False
        return not [name for name in self._names if self._told.get(name, silent) is False]

    def _ask(self, peer: Peer) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError, ValueError):  # away, or not what it should be: not waited for for long
                self._told[peer.box] = catches(json.loads(self._get(peer.status_url, self._key)), self._own)
            self._over.wait(POLL)


def _secret(place: Path, root: Path) -> str | None:
    try:
        return paths.under(root, place).read_text().strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: cannot be read ({error}); `floor deploy` makes it") from error
