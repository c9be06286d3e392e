"""Guard and notices: a floor that a box could not rest above, and nobody to tell."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config.check import parts
from floor.config.model import Config
from floor.config.problem import Problem


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its guard and with who is told."""
    yield from _floor(config)
    notify = config.notify
    if notify.model_fields_set and not notify.command and notify.webhook is None:
        yield Problem(("notify",), "a command or a webhook below it", "neither")
    if notify.command and not notify.command[0].startswith("/"):
        write = "the program's whole path: the boxes look in no PATH of yours"
        yield Problem(("notify", "command"), write, notify.command[0])
    if notify.every < 60:
        yield Problem(("notify", "every"), "at least 1m: nobody reads what comes more often")


def _floor(config: Config) -> Iterator[Problem]:
    """A box rests at keep_free or above; a floor that is not below takes engines down at the second they are ready."""
    floor = config.guard.floor
    if floor is None or config.guard.mode == "none":
        return
    for name, box in {placed.copy.box: placed.box for placed in parts.copies(config)}.items():
        if box.managed and floor >= box.keep_free:
            write = f"less than the keep_free of box {name} ({box.keep_free / 2**30:g}GiB): the box rests there"
            yield Problem(("guard", "floor"), write)
            return
