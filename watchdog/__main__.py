"""`python -I -m floor.watchdog --once`: one round over the copies of this box. Without --once, a round again and again.

--dry-run shows what a round would do, and does, keeps and tells nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from floor.box import paths
from floor.errors import FloorError

from .decide import Action, Decision
from .look import World
from .round import Round
from .settings import Settings, load


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, watch. Return the exit code; 3 where --dry-run found something to do."""
    options = _options(argv)
    try:
        settings = load(paths.under(options.root, paths.WATCHDOG_SETTINGS))
        while True:
            found = one(settings, options.root, dry_run=options.dry_run)
            if options.dry_run:
                show(found)
                return 3 if any(decision.action is not Action.NONE for decision in found.values()) else 0
            if options.once:
                return 0
            time.sleep(settings.interval)
    except FloorError as error:
        _log(f"floor-watchdog: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return 1


def one(settings: Settings, root: Path, *, dry_run: bool) -> dict[str, Decision]:
    """Given settings and the root of all paths, carry out one round and return the decisions by backend."""
    return Round(settings, World(root, time.monotonic), _log).run(dry_run=dry_run)


def show(decisions: Mapping[str, Decision]) -> None:
    """Print one line for each copy: what would be done, and why."""
    for backend, decision in decisions.items():
        print(f"{backend}: {decision.action}: {decision.reason}: {decision.evidence}")


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m floor.watchdog", description=__doc__)
    parser.add_argument("--once", action="store_true", help="one round, and end")
    parser.add_argument("--dry-run", action="store_true", help="show what a round would do; exit 3 if anything")
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
