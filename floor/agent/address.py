"""`python -I -m floor.agent.address free|gone`: what floor-address.service does around keepalived.

free: before it starts. Ends with 1 where somebody who is no proxy of floor's has the address.
gone: after it has ended, however it did. Takes the address off where it was left behind.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from floor.box import address, paths
from floor.errors import FloorError


def free(root: Path) -> None:
    """Raise FloorError where a stranger has the shared address."""
    settings = address.load(root)
    found = address.strangers(settings.address, settings.interface, [peer.address for peer in settings.peers])
    if found:
        raise FloorError(
            f"{settings.address} is taken: {', '.join(found)} on {settings.interface} answers for it and is no proxy "
            "of floor's; take it from there, or write another `address`"
        )


def gone(root: Path) -> None:
    """Leave nothing of the address behind. Raise FloorError where it stays."""
    settings = address.load(root)
    if address.let_go(settings):
        _log(f"floor-address: {settings.address} was left on {settings.interface}, and is taken off")


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


WORDS: dict[str, Callable[[Path], None]] = {"free": free, "gone": gone}


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, do the one thing asked for. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.agent.address", description=__doc__)
    parser.add_argument("what", choices=sorted(WORDS))
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        WORDS[options.what](options.root)
    except FloorError as error:
        _log(f"floor-address: {error}")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
