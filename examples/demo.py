"""`make demo`: floor at work on this machine, in half a minute, without a GPU and without root.

Two simulated engines stand in for the GPUs, each on a loopback address of its own, and a few lines here stand in for
systemd. All else is real: the config, the rendered launch of each engine, its warm-up, nginx with the rendered
configuration, and the pool service that decides who may be used.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from demo import story
from floor.errors import FloorError

INTERRUPTED = 130


async def play() -> int:
    """Run the story until it ends or somebody ends it; what it started is gone afterwards in either case."""
    task = asyncio.ensure_future(story.tell())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    return await task


def main() -> int:
    """Return the exit code: 0 where everything held, 1 where something did not or could not run."""
    try:
        return asyncio.run(play())
    except FloorError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except asyncio.CancelledError:
        print("\ndemo: interrupted; all that was started is ended and removed", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
