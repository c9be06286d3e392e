"""How long a process has been there."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from floor.box import alive


def test_a_process_has_an_age_while_it_is_there() -> None:
    began = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        time.sleep(0.1)
        age, waited = alive.age(process.pid), time.monotonic() - began
        process.communicate()
    tick = 2 / os.sysconf("SC_CLK_TCK")
    assert 0.1 - tick <= age <= waited + tick
    assert alive.age(process.pid) == 0.0
