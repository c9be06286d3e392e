"""Each story in tests/cases/health: looks and generations on a clock, and the verdict after each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.healthcheck.history import History
from floor.healthcheck.judge import judge, wants_generation, with_generation
from floor.healthcheck.load import Load
from floor.healthcheck.sample import Answer, Fault, Generation, Sample
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Verdict

CASES = Path(__file__).parents[2] / "cases" / "health"
STORIES = {
    f"{path.stem}: {story['story']}": story
    for path in sorted(CASES.glob("*.yaml"))
    for story in yaml.safe_load(path.read_text())
}


def answer(asked: str, what: Any, detail: str, seconds: float = 0.01) -> Answer:
    """`what` is a status, or the word of a fault."""
    status = what if isinstance(what, int) else None
    fault = None if status is not None else Fault(what)
    return Answer(asked=asked, status=status, fault=fault, detail=detail, seconds=seconds)


def sample(step: dict[str, Any]) -> Sample:
    """A look in short: `look` is /health's outcome, and everything else follows it unless it is said."""
    known = {"look", "at", "began", "words", "seconds", "models", "metrics", "served", "loading", "load", "verdict"}
    assert not step.keys() - known - {"wants", "every"}, step
    health = step["look"]
    models = step.get("models", health)
    load = step.get("load")
    metrics = step.get("metrics", 200 if load is not None else health)
    words = step.get("words", "")
    return Sample(
        began=step.get("began", step["at"] - 0.01),
        at=step["at"],
        health=answer("GET /health", health, words, step.get("seconds", 0.01)),
        models=answer("GET /v1/models", models, words),
        metrics=answer("GET /metrics", metrics, words),
        served=tuple(step.get("served", ["flagship"]))
        if models == 200 and step.get("served", ()) is not None
        else None,
        loading=step.get("loading", False),
        load=None if load is None else Load(**load),
    )


def generation(step: dict[str, Any], target: Target) -> Generation:
    """A generation in short: `generation` is its outcome, `tokens` the engine's count."""
    return Generation(
        target=target,
        began=step["began"],
        at=step["at"],
        answer=answer(
            "POST /v1/chat/completions", step["generation"], step.get("words", ""), step["at"] - step["began"]
        ),
        tokens=step.get("tokens"),
        speed=step.get("speed"),
        speed_below=step.get("speed_below"),
    )


def found(verdict: Verdict, expected: dict[str, Any]) -> dict[str, Any]:
    """What `expected` speaks of, as the verdict has it. Evidence is compared by the part that is written."""
    said: dict[str, Any] = {
        "level": verdict.level.name.lower(),
        "reason": str(verdict.reason),
        "evidence": verdict.evidence,
        "healthy": verdict.healthy,
        "restartable": verdict.restartable,
        "latency": verdict.latency,
        "running": verdict.running,
        "waiting": verdict.waiting,
    }
    if "evidence" in expected and expected["evidence"] in said["evidence"]:
        said["evidence"] = expected["evidence"]
    return {key: said[key] for key in expected}


@pytest.mark.parametrize("name", STORIES)
def test_verdicts_follow_the_story(name: str) -> None:
    """After every step the verdict is the one that the story tells, at the time of that step."""
    story = STORIES[name]
    target = Target(
        **{"name": "flagship@a", "url": "http://192.0.2.11:8000", "model": "flagship", **story.get("target", {})}
    )
    history = History()
    for number, step in enumerate(story["steps"], 1):
        if "look" in step:
            seen = sample(step)
            history, verdict = judge(target, history, seen)
        else:
            history, verdict = with_generation(history, generation(step, target))
        where = f"step {number} at {step['at']}: {verdict}"
        assert found(verdict, step["verdict"]) == step["verdict"], where
        assert verdict.at == step["at"], where
        assert history.verdict == verdict
        if "wants" in step:
            assert wants_generation(history, seen, step["at"], step.get("every", 30)) is step["wants"], where


def test_every_reason_has_a_story() -> None:
    """A reason without a case would be a promise that nothing holds."""
    from floor.healthcheck.verdict import Reason

    told = {step["verdict"].get("reason") for story in STORIES.values() for step in story["steps"]}
    assert told >= {str(reason) for reason in Reason}
