"""The whole of `floor fetch`: what lacks, the room for it, then weights and images one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from floor.box.manifest import Origin
from floor.errors import BoxError, FloorError
from floor.operations import fetch_demand as demand
from floor.operations.deploy import install_releases
from floor.operations.fetch import Fetch, Hub
from floor.operations.fetch_demand import Rows
from floor.operations.fetch_images import Images
from floor.operations.fetch_tasks import Tasks, Work
from floor.operations.site import Site
from floor.plan import fetch as plan
from floor.plan.fetch import FolderSeen, Image, Tried, Weights
from floor.sizes import told_size

Say = Callable[[str], None]


@dataclass
class Fetched:
    """What came of it. `pending` is what a dry run would do, a line each; `complete`: every box has everything."""

    weights: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    complete: bool = True
    changed: bool = False

    def as_json(self) -> dict[str, Any]:
        """As an object: {"weights": [{"repo", "revision", "models", "size", "boxes": {box: digest|null}}], "images":
        [{"image", "models", "boxes": {box: id|null}}], "pending", "failed", "complete", "changed"}."""
        return dict(vars(self))


def fetch(
    site: Site,
    hub: Hub,
    models: Sequence[str],
    boxes: Sequence[str],
    say: Say,
    progress: Say,
    *,
    dry_run: bool = False,
    check: bool = False,
    patience: dict[str, Any] | None = None,
) -> Fetched:
    """Bring to every box what its copies need. `models` and `boxes` are those that are meant, none: all. With `check`
    every file is read again first.

    Raise UsageError for unknown names, RefusedError where a folder holds something else, FloorError with what is
    lacking before anything is fetched, or with all that failed.
    """
    demand.names(site, models, boxes)
    config = site.loaded.config
    goals, pictures = plan.weights_wanted(config, models, boxes), plan.images_wanted(config, models, boxes)
    outcome = Fetched()
    if carried := install_releases(site, say, dry_run=dry_run):
        outcome.changed = not dry_run
        if dry_run:
            outcome.pending = [*carried, "the rest is planned by the new release, once it is there"]
            return outcome
    tasks = Tasks(site, say, progress)
    run = Fetch(site, hub, tasks, say, patience=patience or {})
    docker = Images(site, tasks, say, run.failed, run.absent)
    try:
        if check and not dry_run:
            _check(run, goals)
        _weights(run, goals, outcome, dry_run=dry_run)
        _images(docker, pictures, outcome, dry_run=dry_run)
    finally:
        run.close()
    tasks.close()  # not where this was interrupted: the boxes go on, and one of them gives what the others take
    outcome.failed = [*run.failed, *run.absent.values()]
    outcome.complete = outcome.complete and not outcome.failed
    return outcome


def _check(run: Fetch, goals: Sequence[Weights]) -> None:
    """Read every file of every folder that has a manifest, on all boxes side by side."""
    for goal in goals:
        seen = run.look([goal])
        works = [
            Work(box, goal.task(box), {"kind": "check", "what": f"reads {goal.origin}", "folder": folder})
            for (box, folder), found in seen.items()
            if found.whole(goal.origin)
        ]
        for over in run.tasks.run(works) if works else ():
            if over.error:
                raise FloorError(over.why)
            if not over.told["damaged"]:
                run.say(f"{over.work.box}: every file of {goal.origin} is as it was fetched")


def _weights(run: Fetch, goals: Sequence[Weights], outcome: Fetched, *, dry_run: bool) -> None:
    looked = run.look(goals)
    there = demand.answering(goals, looked)
    tried = {goal.origin: Tried() for goal in goals}
    rows: dict[Origin, Rows] = {}
    for goal in there:
        seen = {box: looked[box, folder] for box, folder in goal.places.items()}
        if seen:
            rows[goal.origin] = run.files(goal, seen, tried[goal.origin])
    known = [goal for goal in there if goal.origin in rows]
    demand.demand_room(known, rows, looked)
    sizes = demand.sizes_of(rows)
    for goal in known:
        outcome.pending += _pending(goal, sizes[goal.origin], looked)
    for goal in () if dry_run else known:
        if any(not looked[box, folder].whole(goal.origin) for box, folder in goal.places.items()):
            run.say(f"{goal.origin}: {len(rows[goal.origin])} files, {told_size(sizes[goal.origin])}")
            run.bring(goal, rows[goal.origin], tried[goal.origin])
            outcome.changed = True
    for goal in goals:
        digests, equal = run.compare(goal)
        about = {"repo": goal.origin.repo, "revision": goal.origin.revision, "models": list(goal.models)}
        size = sizes.get(goal.origin)
        outcome.weights.append({**about, "folders": dict(goal.places), "size": size, "boxes": digests})
        outcome.complete = outcome.complete and (equal or dry_run)


def _pending(goal: Weights, size: int, looked: dict[tuple[str, str], FolderSeen]) -> list[str]:
    found = []
    for box, folder in goal.places.items():
        seen = looked[box, folder]
        if not seen.whole(goal.origin):
            come = f", {told_size(seen.partial)} have come" if seen.partial else ""
            some = f", {len(seen.changed)} files again" if seen.changed else ""
            told = f"{goal.origin} into {folder} ({told_size(size)}{come}{some})"
            found.append(f"{box}: fetch {told}; {told_size(seen.free)} are free there")
    return found


def _images(run: Images, goals: Sequence[Image], outcome: Fetched, *, dry_run: bool) -> None:
    if not goals:
        return
    looked = run.look(goals)
    for goal in goals:
        lacking = [box for box in goal.boxes if box in looked and not looked[box]["images"][goal.reference]]
        outcome.pending += [f"{box}: fetch the image {goal.reference}" for box in lacking]
        if lacking and not dry_run:
            run.bring(goal)
            outcome.changed = True
        ids, equal = run.compare(goal)
        outcome.images.append({"image": goal.reference, "models": list(goal.models), "boxes": ids})
        outcome.complete = outcome.complete and (equal or dry_run)


def stop(site: Site, models: Sequence[str], boxes: Sequence[str], say: Say) -> None:
    """End what the boxes fetch of these models, also where the command that began it is gone. What has come is kept.

    Raise BoxError with each box that could not be asked, after all others were.
    """
    demand.names(site, models, boxes)
    config = site.loaded.config
    tasks = [(box, goal.task(box)) for goal in plan.weights_wanted(config, models, boxes) for box in goal.places]
    for goal in plan.images_wanted(config, models, boxes):
        tasks += [(box, name) for box in goal.boxes for name in (goal.task, plan.task_name(f"pack {goal.reference}"))]
    stopped, lost = 0, dict[str, str]()
    for box, task in tasks:
        if box in lost:
            continue
        try:
            answer = site.boxes[box].call("fetch.stop", {"task": task}, timeout=60)
        except BoxError as error:
            lost[box] = str(error)
            continue
        if answer["stopped"]:
            stopped += 1
            say(f"{box}: stopped; `floor fetch` goes on from what has come")
    if lost:
        raise BoxError("what these boxes fetch may go on:\n" + "\n".join(f"  {why}" for why in lost.values()))
    if not stopped:
        say("nothing is being fetched")
