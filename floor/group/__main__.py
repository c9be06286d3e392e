"""`python -I -m floor.group`: the service that watches over the parts of groups on this box."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from floor.box import service

from .service import Service
from .settings import load


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, run the service until SIGTERM. Return the exit code."""
    return service.main("group", __doc__, lambda root, log: Service(load(root), root, log), argv)


if __name__ == "__main__":
    sys.exit(main())
