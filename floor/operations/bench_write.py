"""`floor bench --write`: whose cap the advice becomes, and where that stands in floor.yaml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from floor.config import edit
from floor.config.model import Config, ResolvedCopy
from floor.config.problem import KeyPath
from floor.errors import RefusedError, UsageError
from floor.operations import own_file
from floor.operations.site import Site
from floor.plan.seen import parse


@dataclass(frozen=True)
class Home:
    """Where a max_requests stands, and how many backends share what is advised."""

    where: KeyPath
    backends: int

    def cap(self, at: float) -> int:
        """Given what is advised for all of them, return the max_requests of each."""
        return max(1, math.ceil(at / self.backends))


def home(site: Site, model: str, one: ResolvedCopy | None) -> Home:
    """Given who is measured alone (None: the pool of `model`), return where its cap stands. Raise as `of_pool` does."""
    return of_pool(site, model) if one is None else Home(place(site.loaded.config, one), 1)


def of_pool(site: Site, model: str) -> Home:
    """Of all that answer for `model` in the mode that the boxes are in. Raise RefusedError where one of them is not in
    the pool, whose part the others would get; UsageError where there is no one place for all of them."""
    config, box = site.loaded.config, site.loaded.config.proxy.boxes[0]
    backends = config.backends(model, site.mode())
    members = parse(box, site.boxes[box].call("observe", {})).serving(model)
    out = [one.backend for one in backends if one.backend not in members]
    if out or not backends:
        what = f"{', '.join(out)} not in the pool of {box}" if out else f"{model}: nobody serves it in this mode"
        raise RefusedError(
            f"--write: {what}, so the advice would be for another number of copies; `floor status` tells why. Measure "
            "when all serve, or one of them with --copy"
        )
    return Home(_one_place(config, backends), len(backends))


def _one_place(config: Config, backends: Sequence[ResolvedCopy]) -> KeyPath:
    places = {place(config, one): one.backend for one in backends}
    if len(places) > 1:
        told = " and ".join(f"{name} at {'.'.join(map(str, where))}" for where, name in places.items())
        raise UsageError(f"--write: caps stand in several places ({told}); measure each copy by itself with --copy")
    return next(iter(places))


def advised(site: Site, model: str, one: ResolvedCopy | None, began: Home, path: Path, at: float | None) -> str:
    """Given where the cap stood when the measurement began, floor.yaml and the advice, write it, and return what to
    say. Raise as `home` and `write` do, and RefusedError where others answer by now."""
    if at is None:
        return "nothing is written: there is no advice"
    if home(site, model, one) != began:
        raise RefusedError("nothing is written: others answer than when the measurement began; run it again")
    return write(path, began.where, began.cap(at)) or f"{path} says so already"


def place(config: Config, copy: ResolvedCopy) -> KeyPath:
    """Where the max_requests of a copy, or a group, stands in floor.yaml: its own if it has one, else the model's."""
    model = config.models[copy.model]
    if model.split is not None and copy in config.parts(copy.model):
        return ("models", copy.model, "split", "max_requests")
    own = next((at for at, one in enumerate(model.replicas) if one.box == copy.box and one.max_requests), None)
    return ("models", copy.model, *(() if own is None else ("replicas", own)), "max_requests")


def write(path: Path, where: KeyPath, most: int) -> str:
    """Put `most` into floor.yaml at `where`, and return the difference.

    Raise ConfigError if it cannot be changed alone, FloorError if it cannot be written.
    """
    before = path.read_text()
    after = edit.set_value(before, where, most, str(path))
    if after != before:
        own_file.write(path, after)
    return edit.diff(before, after, str(path))
