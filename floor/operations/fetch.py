"""`floor fetch`: weights and images to the boxes that hold copies, from the internet once.

It changes no copy and takes no lease: a deployment need not wait for an hour of download. What it brings gets its name
when it is whole, and a deployment says so while it is not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.box import manifest
from floor.box.manifest import Origin
from floor.errors import BoxError, FloorError, RefusedError, UsageError
from floor.operations.fetch_tasks import Over, Tasks, Work
from floor.operations.site import Site
from floor.plan import fetch as plan
from floor.plan.fetch import HUB, FolderSeen, Transfer, Tried, Weights

Say = Callable[[str], None]
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Hub:
    """Which hub is asked, and the caller's token for it."""

    endpoint: str
    token: str | None = field(default=None, repr=False)


@dataclass
class Fetch:
    """One run of `floor fetch`. `failed` and `absent` collect what could not be done and who did not answer."""

    site: Site
    hub: Hub
    tasks: Tasks
    say: Say
    failed: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    patience: Mapping[str, Any] = field(default_factory=dict)

    def look(self, goals: Sequence[Weights]) -> dict[tuple[str, str], FolderSeen]:
        """Look at the folders of all goals. A box that does not answer is named in `absent` and left out."""
        folders: dict[str, dict[str, None]] = {}
        for goal in goals:
            for box, folder in goal.places.items():
                folders.setdefault(box, {})[folder] = None
        answers = self.site.each(
            folders,
            lambda box, transport: transport.call(
                "fetch.look", {"folders": list(folders[box]), "images": [], "tasks": []}
            ),
        )
        seen: dict[tuple[str, str], FolderSeen] = {}
        for box, answer in answers.items():
            if isinstance(answer, BoxError):
                self.absent[box] = str(answer)
                continue
            for folder, told in answer["folders"].items():
                seen[box, folder] = plan.folder_seen(told)
        return seen

    def fail(self, line: str) -> None:
        """Keep a line about something that could not be done, once."""
        if line not in self.failed:
            self.failed.append(line)

    def files(self, goal: Weights, seen: Mapping[str, FolderSeen], tried: Tried) -> Rows:
        """Return the files of a goal, each with its hash: from a box that has them all, else from the hub, asked by
        the box that will fetch them. Raises FloorError where no box reaches the hub, or where it refuses."""
        for box in seen:
            if seen[box].whole(goal.origin):
                answer = self.site.boxes[box].call("fetch.read", {"folder": goal.places[box]})
                return list(answer["manifest"]["files"])
        return self._listing(goal, seen, tried)

    def _listing(self, goal: Weights, seen: Mapping[str, FolderSeen], tried: Tried) -> Rows:
        why: list[str] = []
        asked = {"endpoint": self.hub.endpoint, "repo": goal.origin.repo, "revision": goal.origin.revision}
        for box in sorted(seen, key=lambda box: -seen[box].partial):
            answer = self.site.boxes[box].call("fetch.list", {**asked, "token": self.hub.token}, timeout=60)
            if "denied" in answer:
                raise FloorError(answer["denied"])
            if "unreachable" in answer:
                tried.add(Transfer(box, HUB))
                why.append(f"  {box}: {answer['unreachable']}")
                continue
            every = manifest.entries(answer["files"])
            return [entry.as_json() for entry in self._chosen(goal, every)]
        raise FloorError(
            f"{goal.origin}: no box that needs it reaches the hub:\n" + "\n".join(why) + "\n"
            "connect one of them for the time of the fetch, set HF_ENDPOINT to a mirror, or put the weights there"
        )

    def _chosen(self, goal: Weights, every: Sequence[manifest.Entry]) -> Sequence[manifest.Entry]:
        found = manifest.chosen(every, goal.origin.include)
        if not found:
            names = ", ".join(entry.path for entry in every[:8])
            raise FloorError(f"{goal.origin}: `include` matches none of its {len(every)} files: {names} …")
        there = {entry.path for entry in found}
        for copy in (copy for model in goal.models for copy in self.site.loaded.config.copies(model)):
            if copy.box in goal.places and copy.source.endswith(".gguf") and Path(copy.source).name not in there:
                some = ", ".join(sorted(name for name in there if name.endswith(".gguf"))[:8]) or "none"
                raise FloorError(f"{copy.backend}: {goal.origin} has no {Path(copy.source).name}; it has {some}")
        return found

    def bring(self, goal: Weights, rows: Rows, tried: Tried) -> None:
        """Transfer until every box that can be served has the weights. What fails is kept in `failed`."""
        before = len(self.failed)
        while len(self.failed) == before:
            looked = self.look([goal])
            seen = {box: found for (box, _), found in looked.items()}
            turn = plan.next_weights(answering([goal], looked)[0], seen, tried)
            if not turn.transfers:
                for box in turn.stuck:
                    self.fail(f"{box}: {goal.origin} can be had from nowhere")
                return
            for transfer, over in zip(turn.transfers, self.tasks.run(self._works(goal, rows, turn)), strict=True):
                self._judge(goal, transfer, over, tried)

    def _works(self, goal: Weights, rows: Rows, turn: plan.Round) -> list[Work]:
        return [self._work(goal, rows, transfer) for transfer in turn.transfers]

    def _work(self, goal: Weights, rows: Rows, transfer: Transfer) -> Work:
        box, giver = transfer.box, transfer.source
        if giver == HUB:
            urls, kind, secret = [self.hub.endpoint], "hub", self.hub.token
            self.say(f"{box}: fetches {goal.origin} from {self.hub.endpoint} into {goal.places[box]}")
        else:
            port, secret = self.tasks.serve(giver, goal.places[giver])
            urls, kind = self.tasks.urls(giver, box, port), "box"
            self.say(f"{box}: fetches {goal.origin} from {giver} ({urls[0]}) into {goal.places[box]}")
        job = {
            "kind": "weights",
            "what": str(goal.origin),
            "folder": goal.places[box],
            **goal.origin.as_json(),
            "files": [dict(row) for row in rows],
            "from": {"kind": kind, "urls": urls},
            "secret": secret is not None,
            "patience": dict(self.patience),
        }
        return Work(box, goal.task(box), job, secret)

    def _judge(self, goal: Weights, transfer: Transfer, over: Over, tried: Tried) -> None:
        if not over.error:
            size = int(over.told.get("size") or 0)
            speed = plan.told_size(size / max(over.seconds, 0.001))
            self.say(f"{transfer.box}: has {goal.origin}, {plan.told_size(size)} in {over.seconds:.0f} s ({speed}/s)")
            return
        tried.add(transfer)
        if over.error == "unreachable":
            self.say(f"{over.why}; another way is tried")
            return
        self.fail(over.why)

    def compare(self, goal: Weights) -> tuple[dict[str, str | None], bool]:
        """Return the digest of the manifest on each box, and whether all are there and equal."""
        seen = self.look([goal])
        digests = {box: found.digest if found.whole(goal.origin) else None for (box, _), found in seen.items()}
        values = set(digests.values())
        if len(values - {None}) > 1:
            self.fail(
                f"{goal.origin}: the boxes hold different files ("
                + ", ".join(f"{box}: {str(digest)[:12]}" for box, digest in digests.items())
                + "); run `floor fetch --check`"
            )
        return digests, len(values) == 1 and None not in values and len(digests) == len(goal.places)


def answering(goals: Sequence[Weights], seen: Mapping[tuple[str, str], FolderSeen]) -> list[Weights]:
    """Given goals and what was seen, return the goals with the boxes that answered."""
    return [
        dataclasses.replace(goal, places={box: at for box, at in goal.places.items() if (box, at) in seen})
        for goal in goals
    ]


def names(site: Site, models: Sequence[str], boxes: Sequence[str]) -> None:
    """Raise UsageError for a model or a box that floor.yaml does not have."""
    config = site.loaded.config
    for model in models:
        if model not in config.models:
            raise UsageError(f"{model}: no such model in floor.yaml; there are {', '.join(config.models)}")
    for box in boxes:
        if box not in site.boxes:
            raise UsageError(f"{box}: no such box that floor manages; there are {', '.join(site.boxes)}")


def sizes_of(rows: Mapping[Origin, Rows]) -> dict[Origin, int]:
    """Given the files of each goal, return how many bytes they have."""
    return {origin: sum(int(row["size"]) for row in files) for origin, files in rows.items()}


def demand_room(
    goals: Sequence[Weights], rows: Mapping[Origin, Rows], seen: Mapping[tuple[str, str], FolderSeen]
) -> None:
    """Raise RefusedError for a folder that holds other weights, FloorError for a disk that is too small."""
    if found := plan.refusals(goals, seen):
        raise RefusedError("nothing was fetched:\n" + "\n".join(f"  {line}" for line in found))
    if found := plan.shortages(goals, sizes_of(rows), seen):
        raise FloorError("nothing was fetched:\n" + "\n".join(f"  {line}" for line in found))
