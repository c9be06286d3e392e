"""Three runs side by side, one of them whole, so that all of them together take as long as one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from tests.demo.show import Show, folders


def _interrupt(show: Show) -> None:
    os.kill(show.process.pid, signal.SIGINT)


def _kill_pool(show: Show) -> None:
    for one in show.started:
        with suppress(psutil.NoSuchProcess):  # what ran for a moment only
            if "floor.pool" in one.cmdline() and "--reload" in one.cmdline():
                one.kill()


@pytest.fixture(scope="session")
def shows() -> Iterator[dict[str, Show]]:
    """`whole`, `interrupted` (Ctrl-C while the clients stream) and `broken` (the pool killed while engines load)."""
    before = folders()
    found = {
        "whole": Show(),
        "interrupted": Show("clients stream", _interrupt),
        "broken": Show("a client asks at once", _kill_pool),
    }
    try:
        yield {name: show.ended() for name, show in found.items()}
    finally:
        for show in found.values():
            show.kill()
    assert folders() <= before
