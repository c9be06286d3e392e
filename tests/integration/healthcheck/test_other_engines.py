"""llama.cpp, Ollama and models for embeddings: the verdicts on simulated ones, over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from floor.healthcheck.verdict import Level, Reason
from floor.sim.process import SimulatedEngine
from tests.integration.healthcheck.test_faults import checked, target


@pytest.fixture(scope="module")
def _llama() -> Iterator[SimulatedEngine]:
    with SimulatedEngine("flagship", dialect="llamacpp", max_requests=2, context=4096, speed_factor=5) as engine:
        yield engine


@pytest.fixture(scope="module")
def _ollama() -> Iterator[SimulatedEngine]:
    with SimulatedEngine("flagship", dialect="ollama", max_requests=2, context=4096, speed_factor=5) as engine:
        yield engine


@pytest.fixture
def llama(_llama: SimulatedEngine) -> Iterator[SimulatedEngine]:
    yield _llama
    _llama.clear()


@pytest.fixture
def ollama(_ollama: SimulatedEngine) -> Iterator[SimulatedEngine]:
    yield _ollama
    _ollama.clear()


def test_a_healthy_llamacpp(llama: SimulatedEngine) -> None:
    verdict, _ = checked(target(llama.url, dialect="llamacpp"))
    assert verdict.healthy, verdict
    assert (verdict.running, verdict.waiting) == (0, 0)


@pytest.mark.parametrize(
    ("kind", "options", "level", "reason"),
    [
        ("loading", {}, Level.ALIVE, Reason.LOADING),
        ("loading", {"models": True}, Level.ALIVE, Reason.LOADING),
        ("dead", {}, Level.READY, Reason.TIMED_OUT),
        ("wrong-model", {"name": "small"}, Level.ALIVE, Reason.WRONG_MODEL),
        ("unauthorized", {}, Level.ALIVE, Reason.AUTH_REQUIRED),
        ("slow", {"rate": 0.5}, Level.GENERATES, Reason.DEGRADED),
    ],
)
def test_faults_of_llamacpp(
    llama: SimulatedEngine, kind: str, options: dict[str, Any], level: Level, reason: Reason
) -> None:
    """O24: models may be listed while it loads."""
    llama.fault(kind, **options)
    verdict, _ = checked(target(llama.url, dialect="llamacpp", min_speed=20))
    assert (verdict.level, verdict.reason) == (level, reason), verdict


def test_a_cold_ollama_is_loaded_by_the_check_and_tells_no_counts(ollama: SimulatedEngine) -> None:
    verdict, _ = checked(target(ollama.url, dialect="ollama"))
    assert verdict.healthy, verdict
    assert (verdict.running, verdict.waiting) == (None, None)


@pytest.mark.parametrize(
    ("kind", "options", "level", "reason", "words"),
    [
        ("dead", {}, Level.READY, Reason.SLOW, "how busy it is it does not say"),
        ("error", {}, Level.READY, Reason.SERVER_ERROR, "POST /v1/chat/completions answered 500"),
        ("wrong-model", {"name": "small"}, Level.ALIVE, Reason.WRONG_MODEL, "lists small, small:latest, not flagship"),
        ("slow", {"rate": 0.5}, Level.GENERATES, Reason.DEGRADED, "the minimum is 20"),
        ("hang", {}, Level.ALIVE, Reason.TIMED_OUT, "no answer within"),
    ],
)
def test_faults_of_ollama(
    ollama: SimulatedEngine, kind: str, options: dict[str, Any], level: Level, reason: Reason, words: str
) -> None:
    checked(target(ollama.url, dialect="ollama"))  # the model is in memory
    ollama.fault(kind, **options)
    verdict, _ = checked(target(ollama.url, dialect="ollama", min_speed=20))
    assert (verdict.level, verdict.reason) == (level, reason), verdict
    assert words in verdict.evidence


def test_an_ollama_whose_load_takes_longer_than_the_check_is_cold() -> None:
    with SimulatedEngine("flagship", dialect="ollama", load_time=30) as engine:
        verdict, _ = checked(target(engine.url, dialect="ollama"))
        assert (verdict.level, verdict.reason) == (Level.READY, Reason.COLD), verdict
        assert not verdict.restartable


def test_a_model_for_embeddings() -> None:
    """It refuses a chat, and embeds."""
    with SimulatedEngine("flagship", args=["--runner", "pooling"]) as engine:
        verdict, _ = checked(target(engine.url, task="embed", min_speed=20))
        assert verdict.healthy, verdict
        assert "embeds, 1 embedding in" in verdict.evidence
        assert checked(target(engine.url))[0].reason is Reason.WRONG_MODEL
