"""Boxes to be rebooted: one at a time, each after the other serves again."""

from __future__ import annotations

from collections.abc import Mapping

from floor.plan import gate, held, lanes
from floor.plan.aim import Aim, Part, Wanted
from floor.plan.serving import Serving
from floor.plan.steps import Plan, Stage, Step, Until, stage

BOOT_SECONDS = 900.0  # from the order until the box answers again: servers test their memory for minutes


def plan_reboot(aim: Aim, before: Mapping[str, str]) -> Plan:
    """Given the aim and, for each box to reboot, the id of the boot that it had, return what is left to do.

    A box whose boot id has changed since, and whose copies are in the pools again, is done. Those that have rebooted
    already go first, so that what they hold serves before the next one goes.
    """
    stages: list[Stage] = []
    serving = Serving(aim)
    boxes = [box for box in before if box in aim.seen]
    left = any(aim.seen[box].boot == before[box] for box in boxes)
    down = [copy for copy in aim.copies if _kept_down(aim, copy)]
    for box in sorted(boxes, key=lambda box: aim.seen[box].boot == before[box]):
        copies = [copy for copy in aim.copies if copy.on(box)]
        if aim.seen[box].boot == before[box]:
            outage = tuple(model for model in _models(copies) if serving.only(model, _names(copies, model)))
            stages += stage(f"reboot {box}", _reboot(aim, box, before[box], copies, outage), outage=outage)
        else:
            stages += stage(f"let in what {box} holds", _after(aim, box, copies, left=left))
        for copy in copies:
            if copy not in down:
                serving.joins(copy)
    proxies = _proxies(aim, before)
    notes = [f"{box} is a proxy: who uses its own address gets no answer until it is back" for box in proxies]
    if proxies and (shared := aim.config.proxy.address) and len(aim.proxies) > 1:
        notes.append(f"whoever of them holds {shared} hands it to another proxy box first")
    notes += [
        f"{copy.backend} is kept down by the guard: it does not start with its box, and is not waited for"
        for copy in down
        if any(box in before for box, _ in copy.places)
    ]
    return Plan(tuple(stages), (*notes, *(f"left as it is: {why}" for why in aim.absent.values())))


def reboot_problems(aim: Aim) -> list[str]:
    """Given the aim, return one line for each thing that stands against a reboot."""
    return [
        f"{seen.box}: nginx serves there and floor-pool does not run, so nothing can be drained; run `floor deploy`"
        for seen in aim.proxies
        if seen.unit("floor-proxy.service").running and not seen.unit("floor-pool.service").running
    ]


def _proxies(aim: Aim, before: Mapping[str, str]) -> list[str]:
    return [box for box in aim.config.proxy.boxes if box in aim.seen and aim.seen[box].boot == before.get(box)]


def _models(copies: list[Wanted]) -> list[str]:
    return list(dict.fromkeys(copy.model for copy in copies))


def _names(copies: list[Wanted], model: str) -> set[str]:
    return {copy.backend for copy in copies if copy.model == model}


def _kept_down(aim: Aim, copy: Wanted) -> bool:
    """Whether the guard keeps a part of it down: then none of it serves after a boot."""
    return any(
        held.kept_down(aim, part) is not None and not aim.seen[part.box].unit(part.unit).running for part in copy.parts
    )


def _starts(aim: Aim, copy: Wanted, part: Part) -> bool:
    """Whether a part, and all the rest of its group, starts with its box."""
    return aim.seen[part.box].unit(part.unit).enabled == "enabled" and not _kept_down(aim, copy)


def _reboot(aim: Aim, box: str, boot: str, copies: list[Wanted], outage: tuple[str, ...]) -> list[Step]:
    seen, why = aim.seen[box], "asked for"
    here = [(copy, part) for copy in copies if (part := copy.on(box))]
    up = [copy for copy, part in here if seen.unit(part.unit).running]
    out = [step for copy in up for step in lanes.take_out(aim, copy, why, last=copy.model in outage)]
    # All are taken out before any is waited for: what they have ends side by side.
    out.sort(key=lambda step: step.call == "engine.idle")
    starts = [(copy, part) for copy, part in here if _starts(aim, copy, part)]
    order = Step(box, "box.reboot", {"boot": boot}, f"reboot {box}", why, away=BOOT_SECONDS)
    back = Step(
        box,
        "box.back",
        {"boot": boot, "units": [part.unit for _, part in starts]},
        f"wait until {box} is back",
        until=Until("back", BOOT_SECONDS),
        away=BOOT_SECONDS,
    )
    warm = [step for copy, _ in starts for step in lanes.wait_warm(copy)]
    into = [step for copy, _ in starts for step in lanes.let_in(aim, copy)]
    return [*out, order, back, *warm, *into, *_others(aim, box, now=False)]


def _after(aim: Aim, box: str, copies: list[Wanted], *, left: bool) -> list[Step]:
    """What is left to do on a box that has rebooted; `left`: others are still to go."""
    steps: list[Step] = []
    for copy in copies:
        part = copy.on(box)
        if aim.active(copy):
            steps += lanes.rejoin(aim, copy, awaited=aim.knows(copy))
        elif part and _starts(aim, copy, part):
            steps += [*lanes.wait_warm(copy), *lanes.let_in(aim, copy)]
    return [*steps, *(_others(aim, box, now=True) if left else [])]


def _others(aim: Aim, box: str, *, now: bool) -> list[Step]:
    """Wait until the pool of a rebooted box has what other boxes serve: the next reboot may take one of those.

    With `now`, only for those that it lacks as it was seen.
    """
    if box not in aim.config.proxy.boxes:
        return []
    elsewhere = [proxy for proxy in aim.proxies if proxy.box != box]
    return [
        lanes.in_pool(box, copy, member=True, late="go on")
        for copy in aim.copies
        if not copy.on(box)
        and any(copy.backend in proxy.serving(copy.model) for proxy in elsewhere)
        and not gate.stays_out(aim, copy, aim.seen[box].drained(copy.backend))
        and not (now and copy.backend in aim.seen[box].serving(copy.model))
    ]
