"""`python -I -m floor.agent.address free|leave|gone|proxy`: what floor-address.service does around keepalived.

free: before it starts. Ends with 1 where somebody who is no proxy of floor's has the address.
leave: before it is stopped, whoever stops it. The box that takes the address over gets ready to send on what belongs to
connections of this one, and this one keeps answering them.
gone: after it has ended, however it did. Waits until those connections have ended; takes off what was left behind.
proxy: before nginx is stopped. Stops that unit first, with all of this.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from floor.agent.address_ask import UNIT, Peers
from floor.box import address, alive, command, handover, paths
from floor.errors import FloorError

READY = 6.0  # seconds for the others to get ready; a pool looks twice a second
SETTLING = 1.5  # seconds in which everybody in the network has heard where the address is now
POLL = 0.2
SLACK = 30.0  # seconds beyond all that, for a busy machine


def free(root: Path) -> None:
    """Raise FloorError where a stranger has the shared address."""
    settings = address.load(root)
    _end(settings, root)
    found = address.strangers(settings.address, settings.interface, [peer.address for peer in settings.peers])
    if found:
        raise FloorError(
            f"{settings.address} is taken: {', '.join(found)} on {settings.interface} answers for it and is no proxy "
            "of floor's; take it from there, or write another `address`"
        )


def leave(root: Path) -> None:
    """Hand the address over, where this box holds it. Raise FloorError where its requests cannot be kept."""
    settings = address.load(root)
    pid = os.environ.get("MAINPID", "")
    if not pid.isdigit() or alive.began(pid) is None or not address.held(settings):
        return
    own = handover.hardware(settings.interface)
    handover.mark(paths.ADDRESS_LEAVES, own, root)
    began, over = time.monotonic(), threading.Event()
    peers = Peers(settings, own, root, over)
    while time.monotonic() - began < READY and not peers.ready(time.monotonic() - began):
        over.wait(POLL)
    over.set()
    if not peers.caught:
        handover.mark(paths.ADDRESS_LEAVES, None, root)
        _log(f"{settings.address} is given up, and nobody else is ready to go on with the requests that it has")
        return
    try:
        handover.keep(settings)
    except FloorError:
        handover.mark(paths.ADDRESS_LEAVES, None, root)  # nobody waits then for what cannot go on
        raise
    seconds = time.monotonic() - began
    _log(f"{settings.address} goes to {' or '.join(peers.caught)}, {seconds:.1f} s after it was told to")


def gone(root: Path) -> None:
    """Leave nothing of the address behind, when the requests that came under it have ended. Raise FloorError where it
    stays."""
    settings = address.load(root)
    leaves = handover.told(root)["leaves"] is not None
    if address.let_go(settings):
        _log(f"{settings.address} was left on {settings.interface}, and is taken off")
    if not leaves:
        return
    began = time.monotonic()
    try:
        while (waited := time.monotonic() - began) < settings.within:
            if waited > SETTLING and not handover.connections(settings):
                break
            time.sleep(POLL)
    finally:
        _end(settings, root)
    _log(f"{settings.address}: its requests have ended, {time.monotonic() - began:.1f} s after it went")


def proxy(root: Path) -> None:
    """Stop the unit of the address, which hands it over; nothing where nginx is dead: its requests are lost already.

    Raise FloorError where it does not stop."""
    pid = os.environ.get("MAINPID", "")
    if not pid.isdigit() or alive.began(pid) is None:
        return
    result = command.run(["systemctl", "stop", UNIT], timeout=address.load(root).within + READY + SLACK)
    if not result.ok:
        raise FloorError(f"{UNIT} does not stop: {result.said}")


def _end(settings: address.Settings, root: Path) -> None:
    """End a handover, also one that was cut short."""
    if handover.told(root)["leaves"] is not None:
        handover.end_keep(settings)
        handover.mark(paths.ADDRESS_LEAVES, None, root)


def _log(text: str) -> None:
    print(f"floor-address: {text}", file=sys.stderr, flush=True)


WORDS: dict[str, Callable[[Path], None]] = {"free": free, "leave": leave, "gone": gone, "proxy": proxy}


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, do the one thing asked for. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.agent.address", description=__doc__)
    parser.add_argument("what", choices=sorted(WORDS))
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        WORDS[options.what](options.root)
    except FloorError as error:
        _log(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
