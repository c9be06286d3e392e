"""Calls side by side, and Ctrl-C while one of them hangs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from functools import partial

import pytest

from floor.apply import exchange
from floor.apply.local import LocalTransport
from floor.operations.together import in_threads

HANGS = LocalTransport("spark-a", [sys.executable, "-c", "import time; time.sleep(60)"])


def test_each_result_or_error_in_its_place() -> None:
    found = in_threads([lambda: 1, lambda: 1 // 0, lambda: 3])
    assert (found[0], type(found[1]), found[2]) == (1, ZeroDivisionError, 3)
    assert in_threads([]) == []


def test_ctrl_c_does_not_wait_for_boxes_that_hang() -> None:
    """The calls are given up; all others would have to wait for the slowest box."""

    def interrupt() -> None:
        while len(exchange._UNDER_WAY) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_threads([partial(HANGS.call, "observe")] * 2)
    while exchange._UNDER_WAY:
        time.sleep(0.01)
    assert time.monotonic() - began < 30
