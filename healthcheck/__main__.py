"""`python -m floor.healthcheck URL`."""

from __future__ import annotations

import contextlib
import os
import sys

from floor.healthcheck.command import main

if __name__ == "__main__":
    code = main()
    with contextlib.suppress(OSError):  # what could not be written was said already; the exit code still tells
        sys.stdout.flush()
    # Not sys.exit: it would wait for a resolver thread that a dead name server can hold for half a minute.
    os._exit(code)
