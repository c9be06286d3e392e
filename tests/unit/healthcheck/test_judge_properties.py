"""What holds for any sequence of looks and generations, however odd."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from floor.healthcheck.history import History
from floor.healthcheck.judge import judge, wants_generation, with_generation
from floor.healthcheck.load import Load
from floor.healthcheck.sample import Answer, Fault, Generation, Sample
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason

TARGET = Target(name="flagship@a", url="http://192.0.2.11:8000", model="flagship", stall=30)

COUNTS = st.none() | st.integers(0, 3).map(float)
LOADS = st.none() | st.builds(
    Load,
    running=COUNTS,
    waiting=COUNTS,
    usage=st.none() | st.sampled_from([0.0, 0.5]),
    generated=COUNTS,
    prompted=COUNTS,
    steps=COUNTS,
    finished=COUNTS,
    started=st.none() | st.sampled_from([1.0, 2.0]),
)
STATUSES = st.sampled_from([200, 200, 200, 302, 400, 401, 403, 404, 429, 500, 503])


@st.composite
def answers(draw: st.DrawFn, asked: str) -> Answer:
    """A whole answer, a fault, or a fault after the status had come."""
    fault = draw(st.none() | st.none() | st.sampled_from(list(Fault)))
    status = draw(STATUSES) if fault is None or draw(st.booleans()) else None
    return Answer(asked, status, fault, draw(st.sampled_from(["", "words"])), draw(st.sampled_from([0.01, 1.5])))


@st.composite
def steps(draw: st.DrawFn) -> list[Sample | Generation]:
    """Looks and generations, one after the other."""
    now = 0.0
    out: list[Sample | Generation] = []
    for _ in range(draw(st.integers(1, 12))):
        began = now + draw(st.sampled_from([0.1, 1.0, 20.0]))
        now = began + draw(st.sampled_from([0.01, 2.0, 10.0]))
        if draw(st.integers(0, 3)):
            metrics = draw(answers("GET /metrics"))
            models = draw(answers("GET /v1/models"))
            out.append(
                Sample(
                    began=began,
                    at=now,
                    health=draw(answers("GET /health")),
                    models=models,
                    metrics=metrics,
                    served=draw(st.sampled_from([("flagship",), ("other",), (), None])) if models.ok else None,
                    loading=draw(st.booleans()),
                    load=draw(LOADS) if metrics.ok else None,
                )
            )
        else:
            answer = draw(answers("POST /v1/chat/completions"))
            tokens = draw(st.none() | st.integers(0, 2)) if answer.ok else None
            out.append(Generation(TARGET, began, now, answer, tokens, draw(st.none() | st.just(1.0)), None))
    return out


@given(steps())
@settings(max_examples=100, deadline=None)
def test_verdicts_are_never_more_than_was_seen(story: list[Sample | Generation]) -> None:
    """No sequence raises, and each verdict stands on what was seen of this life of the engine."""
    history = History()
    last_token = None
    for step in story:
        if isinstance(step, Sample):
            history, verdict = judge(TARGET, history, step)
        else:
            if step.proven:
                last_token = step.at
            history, verdict = with_generation(history, step)
        assert verdict.evidence
        assert "\n" not in verdict.evidence
        assert verdict.at == step.at
        assert not (verdict.restartable and verdict.level is Level.GENERATES)
        if verdict.healthy:
            assert history.proof is not None
        if history.proof is not None and history.load is None:
            assert history.proof.at == last_token, "without counts only a generation is proof"
        if isinstance(step, Sample):
            if step.load is None or step.load.running is None:
                assert verdict.running is None, "absent is not 0"
            if not any(a.whole for a in (step.health, step.models, step.metrics)):
                assert verdict.level <= Level.ALIVE
            if wants_generation(history, step, step.at, 0.0):
                assert verdict.level >= Level.READY
                assert not step.in_flight, "a busy engine is never asked"


@given(steps())
@settings(max_examples=30, deadline=None)
def test_hung_takes_as_long_as_the_stall_limit(story: list[Sample | Generation]) -> None:
    """Never before that much time has passed without a sign of progress."""
    history = History()
    for step in story:
        if isinstance(step, Sample):
            history, verdict = judge(TARGET, history, step)
        else:
            history, verdict = with_generation(history, step)
        if verdict.reason is Reason.HUNG:
            since = [s for s in (history.quiet_since, history.silent_since, history.failing_since) if s is not None]
            assert since
            assert step.at - min(since) > TARGET.stall


@given(steps())
@settings(max_examples=30, deadline=None)
def test_the_same_story_gives_the_same_verdicts(story: list[Sample | Generation]) -> None:
    """Nothing but the arguments decides."""

    def told() -> list[object]:
        history, out = History(), []
        for step in story:
            result = judge(TARGET, history, step) if isinstance(step, Sample) else with_generation(history, step)
            history = result[0]
            out.append(result)
        return out

    assert told() == told()


@given(steps())
@settings(max_examples=30, deadline=None)
def test_failures_count_the_verdicts_in_a_row_that_were_unfit(story: list[Sample | Generation]) -> None:
    fit = {Reason.OK, Reason.SLOW, Reason.DEGRADED, Reason.PREFILLING, Reason.UNPROVEN}
    history, expected = History(), 0
    for step in story:
        if isinstance(step, Sample):
            history, verdict = judge(TARGET, history, step)
        else:
            history, verdict = with_generation(history, step)
        expected = 0 if verdict.reason in fit else expected + 1
        assert history.failures == expected


def test_a_history_is_not_changed_by_judging() -> None:
    history = History()
    answer = Answer("GET /health", 200, None, "", 0.01)
    judge(TARGET, history, Sample(0, 1, answer, answer, answer, ("flagship",), load=Load(running=0, waiting=0)))
    assert history == History()
    assert replace(history, failures=1) != history
