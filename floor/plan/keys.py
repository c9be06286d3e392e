"""The keys that all boxes share: one for the engines, one for the status ports."""

from __future__ import annotations

from floor.plan.aim import Aim
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, stage


def plan_keys(aim: Aim, serving: Serving) -> list[Stage]:
    """Given the aim, return the stage that gives every box the same keys; none where they have them.

    Those of the first proxy box that has keys, else made there. Engines take only the key that they were started with,
    so those on the boxes that get another are out of the pools until their turn to restart has come. The stage says so
    where they are all that serves.
    """
    source, lacking = aim.keyed, aim.rekeyed
    if source is None or not lacking:
        return []
    why = "the proxies and the engines must know the same keys"
    steps = [
        Step(box, "secrets.share", {"source": source.box}, f"keys of {source.box} on {box}", why) for box in lacking
    ]
    outage = []
    for model in aim.config.models:
        out = {copy.backend for copy in aim.copies if copy.model == model and copy.box in lacking}
        if serving.members(model) and serving.members(model) <= out:
            outage.append(model)
        serving.leaves(model, out)
    return stage("share the keys", steps, outage=tuple(outage))


def key_problems(aim: Aim) -> list[str]:
    """Given the aim, return a line where keys would be made although a box that does not answer may have some.

    The engines that serve now ask for those; what is made now would shut the others out once that box is back.
    """
    source = aim.keyed
    if source is None or source.secrets is not None:
        return []
    return [
        f"{source.box}: has no keys yet, and {box} does not answer, which may have some; deploy once it answers, or "
        "add --force where it has none"
        for box in aim.absent
    ]
