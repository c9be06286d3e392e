"""Copies of other engines are planned, deployed, restarted and changed like those of vLLM."""

from __future__ import annotations

import pytest

from tests.simulated.situation import TWO_BOXES, Situation

RUNTIME = 'runtime: {kind: docker, image: "registry.example/vllm:v1"}'
LLAMACPP = TWO_BOXES.replace(
    "    source: /models/flagship\n    utilization: 0.4\n",
    "    engine: llamacpp\n    source: /models/flagship.gguf\n    context: 4096\n",
).replace(RUNTIME, "runtime: {kind: native, command: /opt/llama.cpp/llama-server}")
OLLAMA = TWO_BOXES.replace(
    "    source: /models/flagship\n    utilization: 0.4\n",
    "    engine: ollama\n    source: /models/ollama\n    context: 4096\n",
).replace("registry.example/vllm:v1", "registry.example/ollama:1")


def stopped(lines: list[str]) -> list[str]:
    """The copies that are stopped, in their order."""
    return [line.partition(": stop ")[2].split()[0] for line in lines if ": stop flagship" in line]


@pytest.mark.parametrize("text", [LLAMACPP, OLLAMA], ids=["llamacpp", "ollama"])
def test_deployed_it_has_nothing_left_to_do_and_an_option_restarts_one_after_the_other(
    situation: Situation, text: str
) -> None:
    situation.text = text
    assert situation.deploy_all().complete
    assert situation.deploy_all().lines() == ["nothing to do"]
    situation.edit("max_requests: 12", "max_requests: 8")
    assert stopped(situation.deploy_all().lines()) == ["flagship@spark-a", "flagship@spark-b"]
    assert situation.deploy_all().lines() == ["nothing to do"]
    situation.restart()


def test_a_copy_changes_its_engine_while_the_other_serves(situation: Situation) -> None:
    """A pool of two engines; only that copy goes."""
    situation.deploy_all()
    other = (
        "{box: spark-b, engine: llamacpp, source: /models/a.gguf, runtime: {kind: native, command: /opt/llama-server}}"
    )
    situation.edit("max_requests: 12", "max_requests: 12\n    context: 4096")
    situation.deploy_all()
    situation.edit("[spark-a, spark-b]\nproxy", f"[spark-a, {other}]\nproxy")
    found = situation.deploy_all(ungated=True)
    assert found.complete
    assert stopped(found.lines()) == ["flagship@spark-b"]
    assert situation.deploy_all().lines() == ["nothing to do"]
