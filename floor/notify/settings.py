"""Whom to tell, and how: the list `notify` of /etc/floor/watchdog.json, of at most one entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from floor.box.document import Document


@dataclass(frozen=True)
class Notify:
    """`command` is an argv, `webhook` an address and `webhook_file` a file that holds one; all empty: nobody is told.

    `every` is the seconds after which something that lasts is told again, `most` how many messages an hour may have,
    `before` the status ports of the proxy boxes that speak first of what their pools see.
    """

    command: tuple[str, ...] = ()
    webhook: str = ""
    webhook_file: Path | None = None
    every: float = 3600.0
    most: int = 12
    before: tuple[str, ...] = ()

    @property
    def wanted(self) -> bool:
        return bool(self.command or self.webhook or self.webhook_file)


def read(documents: Sequence[Document]) -> Notify:
    """Given the entries, return the settings. Raise FloorError naming the place that is wrong."""
    if not documents:
        return Notify()
    one = documents[0]
    return Notify(
        command=one.texts("command") if one.has("command") else (),
        webhook=one.text("webhook") if one.has("webhook") else "",
        webhook_file=one.path("webhook_file") if one.has("webhook_file") else None,
        every=one.number("every"),
        most=one.whole("most"),
        before=one.texts("before") if one.has("before") else (),
    )
