"""Asks a box whether the user of an engine could start it, before the old copy stops."""

from __future__ import annotations

from floor.operations.site import Site
from floor.plan.aim import Aim


def launch_refusals(site: Site, aim: Aim) -> list[str]:
    """Given the aim, return `BOX: found; what to do` for each program or folder that a native copy's user cannot use.

    Containers run as their image says, and read what root can.
    """
    found = []
    for copy in (part for found in aim.copies for part in found.each()):
        runtime, source = copy.resolved.runtime, copy.resolved.source
        if runtime is None or runtime.kind != "native" or not aim.seen[copy.box].paths.get(source):
            continue  # weights that are not there have been named already
        program = runtime.command[0] if runtime.command[0].startswith("/") else None
        params = {"user": runtime.user, "program": program, "source": source}
        answer = site.boxes[copy.box].call("launch.check", params)
        found += [f"{copy.box}: {problem} ({copy.backend})" for problem in answer["problems"]]
    return found
