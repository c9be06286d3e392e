"""Boxes that do not answer: what they hold is kept out of the pools until a deployment has seen them."""

from __future__ import annotations

from collections.abc import Collection

from floor.config.model import ResolvedCopy
from floor.plan import holders
from floor.plan.aim import Aim
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, stage


def plan_absent(aim: Aim, serving: Serving, models: Collection[str] | None = None) -> list[Stage]:
    """Given the aim, return the stage that keeps the copies of absent boxes out of every pool; given `models`, of those
    alone.

    They may come back with what is no longer wanted. Where nobody else serves the stage says so.
    """
    away = [copy for copy in aim.away() if models is None or copy.model in models]
    lanes = [
        [_drain(aim, proxy.box, copy) for copy in away if not _kept(aim, proxy.box, copy)] for proxy in aim.proxies
    ]
    if not any(lanes):
        return []
    outage = []
    for model in dict.fromkeys(copy.model for copy in away):
        gone = {copy.backend for copy in away if copy.model == model}
        if serving.members(model) & gone and serving.only(model, gone):
            outage.append(model)
        serving.leaves(model, gone)
    return stage("keep out the boxes that do not answer", *lanes, outage=tuple(outage))


def _kept(aim: Aim, proxy: str, copy: ResolvedCopy) -> bool:
    return any(drain.holder == holders.absent(copy.box) for drain in aim.seen[proxy].drained(copy.backend))


def _drain(aim: Aim, proxy: str, copy: ResolvedCopy) -> Step:
    # `last`: the person has been asked, by way of `outage`
    drain = {"backend": copy.backend, "holder": holders.absent(copy.box), "last": True, "outlives": True}
    return Step(proxy, "drain.add", drain, f"keep {copy.backend} out of the pool", aim.absent[copy.box])
