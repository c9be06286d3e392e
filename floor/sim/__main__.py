"""`python -m floor.sim serve MODEL …`"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from floor.errors import FloorError
from floor.sim import arguments, crash, usage
from floor.sim.settings import VERSION


def main(argv: Sequence[str]) -> int:
    """See `floor.sim.run`."""
    if "--help" in argv or "-h" in argv:
        sys.stdout.write(usage.help_text())
        return 0
    if "--version" in argv:
        sys.stdout.write(f"{VERSION}\n")
        return 0
    if "--list-devices" in argv:
        sys.stdout.write("Available devices:\n")  # as llama.cpp on a box without a card
        return 0
    try:
        if argv[:1] == ["check"]:
            return check(argv[1:])
        settings = arguments.parse(argv, os.environ)
        from floor.sim.server import serve

        return serve(settings)
    except FloorError as error:
        sys.stderr.write(f"floor sim: {error}\n")
        return error.exit_code


def check(argv: Sequence[str]) -> int:
    """Parse a command line and open the device, as a start would, and end: one marked line tells what was found.

    Raises UsageError for a command line that cannot be meant, and where the device cannot be opened.
    """
    settings = arguments.parse(argv, os.environ)
    lock = settings.simulation.device_lock
    if lock is not None:
        crash.open_device(lock)
    found = {"device": "cpu" if lock is None else "cuda", "count": None if lock is None else 1, "needs": 1}
    sys.stdout.write(f"@floor {json.dumps(found)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
