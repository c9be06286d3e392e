"""`python -m floor.sim serve MODEL …`"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from floor.errors import FloorError
from floor.sim import arguments, usage
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
        settings = arguments.parse(argv, os.environ)
        from floor.sim.server import serve

        return serve(settings)
    except FloorError as error:
        sys.stderr.write(f"floor sim: {error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
