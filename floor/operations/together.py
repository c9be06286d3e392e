"""Several calls at once, and what came of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from floor.apply.transport import give_up

Result = TypeVar("Result")
AT_ONCE = 16


def in_threads(calls: Sequence[Callable[[], Result]]) -> list[Result | BaseException]:
    """Make every call, side by side; return for each what it returned or raised, in their order.

    On Ctrl-C what hangs on a box is given up instead of waited for; the rest ends with the lease that it works under.
    """
    if not calls:
        return []
    pool = ThreadPoolExecutor(max_workers=min(AT_ONCE, len(calls)))
    try:
        results = [pool.submit(call) for call in calls]
        wait(results)
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        give_up()
        raise
    pool.shutdown()
    return [result.exception() or result.result() for result in results]
