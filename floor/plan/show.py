"""A plan in words and as JSON."""

from __future__ import annotations

from typing import Any

from floor.plan.steps import Plan, Step

QUIET = frozenset({"files", "text"})  # parameters that are contents: their place and reason say enough


def lines(plan: Plan) -> list[str]:
    """Given a plan, return it as lines for a person: stages, their steps, and why."""
    shown: list[str] = []
    for number, stage in enumerate(plan.stages, start=1):
        away = f"   (nobody serves {', '.join(stage.outage)} meanwhile)" if stage.outage else ""
        shown.append(f"{number}. {stage.title}{away}")
        for lane in stage.lanes:
            shown += _lane(lane)
    shown += [f"note: {note}" for note in plan.notes]
    return shown


def _lane(lane: tuple[Step, ...]) -> list[str]:
    """One line a step; a reason that holds for several steps in a row is told once."""
    found, told = [], ""
    for step in lane:
        why = f"   [{step.why}]" if step.why and step.why != told else ""
        told = step.why or told
        found.append(f"   {step.box}: {step.text}{why}")
    return found


def as_json(plan: Plan) -> dict[str, Any]:
    """Given a plan, return it for `--json`: {"stages": [{"title", "outage", "steps": [...]}], "notes": [...],
    "expected": {model: {"seconds", "stop", "start", "basis", "guess"}}}.

    Contents of files stay out: paths and reasons are there.
    """
    return {
        "stages": [
            {"title": stage.title, "outage": list(stage.outage), "steps": [_step(step) for step in stage.steps]}
            for stage in plan.stages
        ],
        "notes": list(plan.notes),
        "expected": {model: dict(found) for model, found in plan.expected.items()},
    }


def _step(step: Step) -> dict[str, Any]:
    params = {key: value for key, value in step.params.items() if key not in QUIET}
    paths = [file["path"] for file in step.params.get("files", ())]
    params |= {"paths": paths} if paths else {}
    return {"box": step.box, "call": step.call, "params": params, "text": step.text, "why": step.why}
