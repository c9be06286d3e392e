"""Waiting for what a box does in its own time, and how long that took."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.lab.machine import LabError


def wait_for(what: str, check: Callable[[], object], timeout: float, interval: float = 0.1) -> float:
    """Call `check` every `interval` seconds until it returns something true; return the seconds that took.

    `what` names what is waited for. Raises LabError with the last answer after `timeout` seconds.
    """
    began = time.monotonic()
    while True:
        answer = check()
        waited = time.monotonic() - began
        if answer:
            return waited
        if waited > timeout:
            raise LabError(f"{what}: not after {waited:.1f} s; the last answer was {answer!r}")
        time.sleep(interval)
