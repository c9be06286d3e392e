"""What is to be fetched, and from where to where: one box from the internet, the others from boxes that have it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from floor.box.manifest import Origin
from floor.box.weights import folder_of
from floor.config.model import Config
from floor.sizes import told_size

HUB = ""  # a source that is no box: the hub or the registry
AT_A_TIME = 2  # boxes that take from one at the same time: more only share its link
SPARE = 256 * 1024 * 1024  # bytes that stay free on a disk


@dataclass(frozen=True)
class Weights:
    """Weights that some boxes must hold: `places` says in which folder on each."""

    origin: Origin
    models: tuple[str, ...]
    places: Mapping[str, str]

    def task(self, box: str) -> str:
        """The name of the task that fetches them on a box: one for each folder."""
        return task_name(self.places[box])


@dataclass(frozen=True)
class Image:
    """An image of docker that some boxes must hold."""

    reference: str
    models: tuple[str, ...]
    boxes: tuple[str, ...]

    @property
    def task(self) -> str:
        return task_name(self.reference)


@dataclass(frozen=True)
class FolderSeen:
    """A folder as `fetch.look` tells of it; sizes in bytes."""

    exists: bool = False
    origin: Origin | None = None
    digest: str | None = None
    changed: tuple[str, ...] = ()
    incomplete: str | None = None
    bytes: int = 0
    partial: int = 0
    free: int = 0
    device: int = 0

    def whole(self, origin: Origin) -> bool:
        """Whether it holds all of `origin`, as far as size and time of its files tell."""
        return self.origin == origin and not self.changed and not self.incomplete

    def other(self, origin: Origin) -> bool:
        """Whether it holds something else."""
        mine = self.origin
        return mine is not None and (mine.repo, mine.revision) != (origin.repo, origin.revision)


@dataclass(frozen=True)
class Transfer:
    """What one box gets next: from the hub, or from another box."""

    box: str
    source: str


@dataclass(frozen=True)
class Round:
    """Transfers that may go on side by side, and boxes that can be served no more."""

    transfers: tuple[Transfer, ...] = ()
    stuck: tuple[str, ...] = ()


@dataclass
class Tried:
    """Which sources a box has been refused by, so that it is not sent there again."""

    pairs: set[tuple[str, str]] = field(default_factory=set)

    def add(self, transfer: Transfer) -> None:
        self.pairs.add((transfer.box, transfer.source))

    def __contains__(self, pair: object) -> bool:
        return pair in self.pairs


def task_name(what: str) -> str:
    """Given what a task is about, return its name."""
    return hashlib.sha256(what.encode()).hexdigest()[:12]


def folder_seen(told: Mapping[str, Any]) -> FolderSeen:
    """Given what the agent told of a folder, return it typed."""
    origin = told.get("origin")
    return FolderSeen(
        exists=bool(told["exists"]),
        origin=Origin(origin["repo"], origin["revision"], tuple(origin["include"])) if origin else None,
        digest=told.get("digest"),
        changed=tuple(told.get("changed") or ()),
        incomplete=told.get("incomplete"),
        bytes=int(told.get("bytes") or 0),
        partial=int(told.get("partial") or 0),
        free=int(told.get("free") or 0),
        device=int(told.get("device") or 0),
    )


def weights_wanted(config: Config, models: Collection[str], boxes: Collection[str]) -> list[Weights]:
    """Given the configuration, and the models and boxes that are meant (none: all), return the weights to fetch."""
    found: dict[Origin, tuple[dict[str, None], dict[str, str]]] = {}
    for copy in _copies(config, models, boxes):
        if copy.fetch is not None:
            origin = Origin(copy.fetch.repo, copy.fetch.revision, tuple(copy.fetch.include))
            names, places = found.setdefault(origin, ({}, {}))
            names[copy.model] = None
            places.setdefault(copy.box, folder_of(copy.source, copy.fetch.include))
    return [Weights(origin, tuple(names), places) for origin, (names, places) in found.items()]


def images_wanted(config: Config, models: Collection[str], boxes: Collection[str]) -> list[Image]:
    """Given the configuration, and the models and boxes that are meant (none: all), return the images to fetch."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for copy in _copies(config, models, boxes):
        if copy.runtime and copy.runtime.kind == "docker":
            names, places = found.setdefault(copy.runtime.image, ({}, {}))
            names[copy.model] = None
            places[copy.box] = None
    return [Image(reference, tuple(names), tuple(places)) for reference, (names, places) in found.items()]


def _copies(config: Config, models: Collection[str], boxes: Collection[str]) -> Iterable[Any]:
    return (
        copy
        for model in config.models
        if not models or model in models
        for copy in (*config.copies(model), *config.parts(model))
        if copy.managed and (not boxes or copy.box in boxes)
    )


def next_weights(goal: Weights, seen: Mapping[str, FolderSeen], tried: Tried) -> Round:
    """Given the goal and the folders as they are now, return what to transfer next; nothing where all is there.

    `seen` may hold boxes beside those of the goal, which give and do not get.
    """
    whole = [box for box in seen if seen[box].whole(goal.origin)]
    lacking = [box for box in goal.places if box not in whole]
    first = sorted(lacking, key=lambda box: -seen[box].partial)
    return _next(first, lacking, whole, tried)


def next_image(goal: Image, ids: Mapping[str, str | None], digests: Mapping[str, bool], tried: Tried) -> Round:
    """Given the image's id on each box (None: not there), and which boxes keep the digest of an image that they load,
    return what to transfer next.

    An image that is named by its digest is pulled on each box whose docker forgets digests (moby/moby#22011).
    """
    lacking = [box for box in goal.boxes if ids.get(box) is None]
    loads = [box for box in lacking if "@" not in goal.reference or digests.get(box)]
    pulls = [box for box in lacking if box not in loads]
    have = [box for box in ids if ids[box] is not None]
    found = _next(lacking, loads, have, tried)
    own = [box for box in pulls if have and (box, HUB) not in tried]
    stuck = [box for box in pulls if have and (box, HUB) in tried]
    return Round((*found.transfers, *(Transfer(box, HUB) for box in own)), (*found.stuck, *stuck))


def _next(first: Sequence[str], lacking: Sequence[str], whole: Sequence[str], tried: Tried) -> Round:
    """The one round: nobody has it, so the first that may asks the hub; else each takes from one that has it."""
    if not whole:
        able = [box for box in first if (box, HUB) not in tried]
        return Round((Transfer(able[0], HUB),)) if able else Round(stuck=tuple(first))
    transfers, stuck = list[Transfer](), list[str]()
    busy: Counter[str] = Counter()
    for box in lacking:
        givers = [one for one in whole if (box, one) not in tried]
        free = sorted((one for one in givers if busy[one] < AT_A_TIME), key=lambda one: busy[one])
        if free:
            busy[free[0]] += 1
            transfers.append(Transfer(box, free[0]))
        elif not givers and (box, HUB) not in tried:
            transfers.append(Transfer(box, HUB))
        elif not givers:
            stuck.append(box)
    return Round(tuple(transfers), tuple(stuck))


def refusals(goals: Iterable[Weights], seen: Mapping[tuple[str, str], FolderSeen]) -> list[str]:
    """Given the goals and each (box, folder), return a line for each folder that holds something else."""
    return [
        f"{box}: {folder} holds {found.origin}, floor.yaml says {goal.origin}; write another `source` for it, so that "
        "copies can change over one after the other, or move that folder away"
        for goal in goals
        for box, folder in goal.places.items()
        if (found := seen[box, folder]).other(goal.origin)
    ]


def shortages(
    goals: Iterable[Weights], sizes: Mapping[Origin, int], seen: Mapping[tuple[str, str], FolderSeen]
) -> list[str]:
    """Given the goals, how many bytes each has, and each (box, folder), return a line for each disk that is too small.

    What has come already counts. Folders of one box on one disk share its room.
    """
    needed: Counter[tuple[str, int]] = Counter()
    named: dict[tuple[str, int], tuple[str, int]] = {}
    for goal in goals:
        for box, folder in goal.places.items():
            found = seen[box, folder]
            if found.whole(goal.origin):
                continue
            disk = (box, found.device)
            needed[disk] += max(0, sizes[goal.origin] - found.partial - found.bytes)
            named.setdefault(disk, (folder, found.free))
    return [
        f"{box}: {named[box, device][0]} needs {told_size(size + SPARE)}, "
        f"its disk has {told_size(named[box, device][1])} free; make room, or write another `source`"
        for (box, device), size in needed.items()
        if size + SPARE > named[box, device][1]
    ]
