"""Listening to something that may fall silent: it is read by a thread, so that whoever listens is never held up."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

One = TypeVar("One")


def heard(source: Iterable[One], patience: float) -> Iterator[One | None]:
    """Pass on what comes from `source`, and None for each `patience` seconds in which nothing did, until it ends.

    Raise what reading it raises. Who stops listening leaves the thread to the end of its source.
    """
    found: queue.Queue[tuple[str, One | None, BaseException | None]] = queue.Queue()

    def read() -> None:
        try:
            for one in source:
                found.put(("one", one, None))
            found.put(("end", None, None))
        except BaseException as error:  # whatever it is, it is raised where it is heard
            found.put(("error", None, error))

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            what, one, error = found.get(timeout=patience)
        except queue.Empty:
            yield None
            continue
        if error is not None:
            raise error
        if what == "end":
            return
        yield one
