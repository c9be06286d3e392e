"""From what is to what floor.yaml says: the order in which a deployment changes things."""

from __future__ import annotations

from floor.box import paths
from floor.plan.aim import Aim
from floor.plan.copies import plan_copies
from floor.plan.retire import plan_retirements
from floor.plan.services import plan_services, retired_backends
from floor.plan.steps import Plan, Stage, Step, stage


def plan_deploy(aim: Aim, config_text: str) -> Plan:
    """Given the aim and the text of floor.yaml, return what is left to do; empty when nothing is.

    The order: keys that everybody shares, boxes that do not answer kept out, services (pools know old and new
    backends), copies one by one, what is no longer wanted, then pools with just the new backends, and the file.
    """
    copies, retirements = plan_copies(aim), plan_retirements(aim)
    pending = bool(copies or retirements)
    stages = [
        *_secrets(aim),
        *_keep_out(aim),
        *plan_services(aim, copies_pending=pending),
        *copies,
        *retirements,
        *_record(aim, config_text),
    ]
    return Plan(tuple(stages), tuple(_notes(aim)))


def _secrets(aim: Aim) -> list[Stage]:
    """One engine key and one status key for all boxes: those of the first box that has them, else made there."""
    order = [*(seen.box for seen in aim.proxies), *(box for box in aim.seen if box not in aim.config.proxy.boxes)]
    source = next((box for box in order if aim.seen[box].secrets), order[0])
    keys = aim.seen[source].secrets
    lacking = [box for box in order if keys is None or aim.seen[box].secrets != keys]
    why = "the proxies and the engines must know the same keys"
    steps = [Step(box, "secrets.share", {"source": source}, f"keys of {source} on {box}", why) for box in lacking]
    return stage("share the keys", steps)


def _keep_out(aim: Aim) -> list[Stage]:
    """A box that does not answer stays out of the pools until a deployment has seen it; one that answers is back."""
    lanes = []
    for proxy in aim.proxies:
        lane = []
        for model in aim.config.models:
            for copy in aim.config.copies(model):
                holders = {str(drain.get("holder")) for drain in proxy.drains.get(copy.backend, ())}
                params = {"backend": copy.backend, "holder": absent_holder(copy.box), "last": True, "epoch": None}
                if copy.box in aim.absent and absent_holder(copy.box) not in holders:
                    text = f"keep {copy.backend} out of the pool"
                    lane.append(Step(proxy.box, "drain.add", params, text, aim.absent[copy.box]))
                elif copy.box in aim.seen and absent_holder(copy.box) in holders and not _pending(aim, copy.box):
                    text = f"{copy.backend} may come back"
                    lane.append(Step(proxy.box, "drain.remove", params, text, f"{copy.box} answers and is as wanted"))
        lanes.append(lane)
    return stage("boxes that did not answer", *lanes)


def absent_holder(box: str) -> str:
    """The name under which a box that did not answer is kept out of the pools."""
    return f"absent: {box}"


def _pending(aim: Aim, box: str) -> bool:
    return any(step.box == box and step.call == "unit.start" for found in plan_copies(aim) for step in found.steps)


def _record(aim: Aim, text: str) -> list[Stage]:
    steps = [
        [Step(box, "config.put", {"text": text}, "keep a copy of floor.yaml", "it is not the one last deployed")]
        for box, seen in aim.seen.items()
        if box in aim.wanted and seen.config != text
    ]
    return stage("record the file", *steps)


def _notes(aim: Aim) -> list[str]:
    notes = [f"afterwards the pools forget {name}" for name in _retired(aim)]
    notes += [f"left as it is: {why}" for why in aim.absent.values()]
    for seen in aim.proxies:
        for backend, drains in seen.drains.items():
            notes += [
                f"{backend} stays out of {seen.box}'s pool: drained by {drain.get('holder')} (floor undrain {backend})"
                for drain in drains
                if drain.get("epoch") is None and not str(drain.get("holder")).startswith("absent: ")
            ]
    return notes


def _retired(aim: Aim) -> list[str]:
    path = str(paths.POOL_SETTINGS)
    names: set[str] = set()
    for seen in aim.proxies:
        if file := aim.wanted[seen.box].file(path):
            names |= {backend["name"] for backend in retired_backends(seen.texts.get(path), file.text)}
    return sorted(names)
