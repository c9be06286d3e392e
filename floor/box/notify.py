"""Tells systemd how a service of ours is doing: one datagram to `$NOTIFY_SOCKET` (sd_notify(3)), no library."""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping


class Notifier:
    """The way to systemd. Without `NOTIFY_SOCKET` (started by hand, or not Type=notify) nothing is sent.

    Given the process's environment and pid. What systemd put into the environment is taken out of it: a child would
    speak in this process's name, which the journal then complains of. A datagram that systemd does not take is dropped:
    a service must not stop serving because nobody listens to how it is doing.
    """

    def __init__(self, environ: MutableMapping[str, str] = os.environ, pid: int | None = None) -> None:
        self._address = environ.pop("NOTIFY_SOCKET", "")
        allowed, whom = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        mine = not whom or whom == str(os.getpid() if pid is None else pid)
        self._watched = int(allowed) / 1e6 if mine and allowed.isdigit() and int(allowed) > 0 else None

    @property
    def watchdog_every(self) -> float | None:
        """Seconds between two signs of life: half of what sd_watchdog_enabled(3) tells; None if unwatched."""
        return None if self._watched is None else self._watched / 2

    def ready(self, status: str = "") -> None:
        """Say that the service does its work from now on, `status` in a few words."""
        self._send("READY=1", status)

    def alive(self, status: str = "") -> None:
        """Give the watchdog its sign of life; only the loop that does the work may call this."""
        self._send("WATCHDOG=1", status)

    def extend(self, seconds: float) -> None:
        """Ask for so many seconds more, from now on, before a start that waits counts as one that hangs."""
        self._send(f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}", "")

    def stopping(self) -> None:
        """Say that the service ends because it was told to."""
        self._send("STOPPING=1", "")

    def _send(self, state: str, status: str) -> None:
        if not self._address:
            return
        # An address that starts with @ is in the abstract namespace.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        message = state + (f"\nSTATUS={' '.join(status.split())}" if status else "")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.setblocking(False)
            try:
                way.sendto(message.encode(), address)
            except OSError:
                return  # see the class: nothing to be done, and nothing depends on it
