"""Several calls at once, and what came of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
AT_ONCE = 16


def in_threads(calls: Sequence[Callable[[], Result]]) -> list[Result | BaseException]:
    """Make every call, side by side; return for each what it returned or raised, in their order."""
    if not calls:
        return []
    with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(calls))) as pool:
        results = [pool.submit(call) for call in calls]
    return [result.exception() or result.result() for result in results]
