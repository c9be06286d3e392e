"""One lab for a whole pytest session, whichever of tests/lab and tests/real asks for it first."""

from __future__ import annotations

import signal

from tests.lab.boxes import Lab

_running: list[Lab] = []


def session_lab() -> Lab:
    """Return the session's lab of two boxes, booted at the first call; SIGTERM then ends the session as Ctrl-C does."""
    if not _running:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _running.append(Lab.start())
    return _running[0]


def close_session_lab() -> None:
    """Remove the session's lab, if there is one."""
    while _running:
        _running.pop().close()
