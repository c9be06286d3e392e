"""A verdict as a line, as JSON and as a state of monitoring plugins."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from floor.healthcheck.report import State, document, from_document, line, state
from floor.healthcheck.verdict import Level, Reason, Verdict

OK = Verdict(
    backend="flagship",
    url="http://192.0.2.11:8000",
    level=Level.GENERATES,
    reason=Reason.OK,
    evidence="generates, 1 token in 0.21 s",
    latency=0.004,
    running=0,
    waiting=0,
    at=12.0,
)


def test_the_line_of_a_healthy_engine() -> None:
    expected = "OK flagship at http://192.0.2.11:8000: generates, 1 token in 0.21 s (running 0, waiting 0)"
    assert line(OK) == expected


def test_the_line_of_another_names_the_reason() -> None:
    """Unknown counts are not shown as 0, nor at all if both are unknown."""
    down = replace(OK, level=Level.DOWN, reason=Reason.TIMED_OUT, evidence="no answer", running=None, waiting=None)
    assert line(down) == "CRITICAL flagship at http://192.0.2.11:8000: timed out: no answer"
    half = replace(down, running=3)
    assert line(half).endswith("no answer (running 3, waiting unknown)")


STATES = {
    State.OK: [Reason.OK],
    State.WARNING: [Reason.SLOW, Reason.DEGRADED, Reason.PREFILLING, Reason.LOADING, Reason.UNPROVEN, Reason.COLD],
    State.CRITICAL: [
        Reason.REFUSED,
        Reason.UNREACHABLE,
        Reason.TIMED_OUT,
        Reason.SERVER_ERROR,
        Reason.HUNG,
        Reason.WRONG_MODEL,
        Reason.NOT_AN_ENGINE,
    ],
    State.UNKNOWN: [Reason.AUTH_REQUIRED],
}


@pytest.mark.parametrize("reason", Reason)
def test_states(reason: Reason) -> None:
    assert reason in STATES[state(replace(OK, reason=reason))]


def test_the_json_has_a_stable_shape() -> None:
    """Programs read this: keys and types are an interface."""
    assert document(OK) == {
        "backend": "flagship",
        "url": "http://192.0.2.11:8000",
        "state": "OK",
        "level": 3,
        "reason": "ok",
        "evidence": "generates, 1 token in 0.21 s",
        "latency": 0.004,
        "running": 0,
        "waiting": 0,
        "healthy": True,
        "restartable": False,
    }


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("level", Level)
def test_a_verdict_survives_the_way_over_json(reason: Reason, level: Level) -> None:
    verdict = replace(OK, reason=reason, level=level, latency=None, running=None)
    assert from_document(json.loads(json.dumps(document(verdict))), at=12.0) == verdict


NEVER = {
    Reason.OK,
    Reason.UNREACHABLE,
    Reason.TIMED_OUT,
    Reason.AUTH_REQUIRED,
    Reason.LOADING,
    Reason.WRONG_MODEL,
    Reason.SLOW,
    Reason.DEGRADED,
    Reason.NOT_AN_ENGINE,
    Reason.PREFILLING,
    Reason.UNPROVEN,
    Reason.COLD,
}


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("reason", Reason)
def test_what_may_be_a_reason_to_restart(reason: Reason, level: Level) -> None:
    """A key, a model, loading and slowness never; and never an engine that generates."""
    verdict = replace(OK, reason=reason, level=level)
    assert verdict.restartable is (reason not in NEVER and level is not Level.GENERATES)
    assert verdict.healthy is (reason is Reason.OK and level is Level.GENERATES)
