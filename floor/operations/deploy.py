"""`floor deploy`: bring the boxes to what floor.yaml says."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable

from floor.errors import BoxError, RefusedError
from floor.operations.change import Change
from floor.operations.site import Site
from floor.plan.aim import Aim
from floor.plan.deploy import plan_deploy

Say = Callable[[str], None]


def deployment(site: Site, mode: str | None, say: Say, progress: Say, *, force: bool) -> Change:
    """Given the site and the mode asked for, return the change that `floor deploy` makes."""
    text = site.loaded.text
    return Change(
        verb="deploy",
        site=site,
        mode=mode,
        planner=lambda aim: plan_deploy(aim, text),
        say=say,
        progress=progress,
        force=force,
    )


def refuse_older(aim: Aim, site: Site) -> None:
    """Raise RefusedError, with the difference, where this floor.yaml is one that a later one has replaced."""
    mine = hashlib.sha256(site.loaded.text.encode()).hexdigest()
    for box, seen in aim.seen.items():
        if mine in seen.configs[:-1] and seen.configs[-1] != mine:
            difference = difflib.unified_diff(
                site.loaded.text.splitlines(),
                (seen.config or "").splitlines(),
                "this file",
                f"deployed on {box}",
                "",
                "",
                1,
                "",
            )
            raise RefusedError(
                f"this {site.loaded.path} is older than the one on {box}:\n"
                + "\n".join(difference)
                + "\ntake over what is deployed, or add --roll-back where going back is meant"
            )


def install_releases(site: Site, say: Say, *, dry_run: bool) -> list[str]:
    """Bring floor's own release to every box that runs another one. Return a line for each box that needed it.

    Raise BoxError where a box is not set up yet.
    """
    from floor.apply.wheels import bundle

    lines = []
    answers = site.each(site.boxes, lambda _box, transport: transport.call("observe", {}))
    for box, answer in answers.items():
        if isinstance(answer, BoxError):
            continue  # observed again, and named, by the plan that follows
        if answer["release"] == site.release:
            continue
        lines.append(f"{box}: floor {answer['release']} becomes {site.release}")
        if dry_run:
            continue
        say(f"{box}: carrying floor {site.release} over")
        wheels = bundle(answer["facts"])
        site.boxes[box].call("release.install", wheels.params, payload=wheels.payload, timeout=600)
    return lines
