"""`python -m floor.tooltest`."""

from __future__ import annotations

import sys

from floor.tooltest.command import main_here

if __name__ == "__main__":
    sys.exit(main_here())
