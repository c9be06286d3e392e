"""`make demo`: floor at work on this machine, in half a minute, without a GPU and without root.

Two simulated engines stand in for the GPUs, each on a loopback address of its own, and a few lines here stand in for
systemd. All else is real: the config, the rendered launch of each engine, its warm-up, nginx with the rendered
configuration, and the pool service that decides who may be used.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

INTERRUPTED = 130


async def play(*, fast: bool) -> int:
    """Run the story until it ends or somebody ends it; what it started is gone afterwards in either case."""
    from demo import story, tempo

    task = asyncio.ensure_future(story.tell(tempo.FAST if fast else tempo.Tempo()))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    return await task


def main() -> int:
    """Return the exit code: 0 where everything held, 1 where something did not or could not run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="engines that load and answer in no time, as tests want it")
    fast = parser.parse_args().fast
    try:  # importing takes half a second too: Ctrl-C is heard from here on
        from floor.errors import FloorError

        try:
            return asyncio.run(play(fast=fast))
        except FloorError as error:
            print(f"\ndemo: {error}", file=sys.stderr)
            return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("\ndemo: interrupted; all that was started is ended and removed", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
