"""Real vLLM answers in the boxes, natively and in docker: without floor, so that what fails there is floor's."""

from __future__ import annotations

import time

import pytest

from tests.lab.boxes import Lab
from tests.real import engine
from tests.real.environment import LEFT_OUT, project_name


@pytest.fixture(scope="module")
def seconds_to_ready(real_lab: Lab) -> dict[str, float]:
    """Start a copy on each box side by side, the second box's in docker; return how long each took, by box."""
    boxa, boxb = real_lab.boxes.values()
    began = time.monotonic()
    engine.serve_natively(boxa)
    engine.serve_in_docker(boxb)
    took = {}
    for box in (boxa, boxb):
        engine.await_ready(box)
        took[box.name] = time.monotonic() - began
    return took


def test_both_copies_get_ready(seconds_to_ready: dict[str, float]) -> None:
    print(f"ready after {seconds_to_ready}")
    assert seconds_to_ready.keys() == {"boxa", "boxb"}


def test_each_copy_answers_a_chat(real_lab: Lab, seconds_to_ready: dict[str, float]) -> None:
    for box in real_lab.boxes.values():
        assert engine.tokens_of_a_chat(box) == 16


def test_the_name_of_a_requirement() -> None:
    named = [
        project_name(line) for line in ('torch==2.13.0+cpu; platform_machine == "x86_64"', "torchcodec>=0.14", "Numba")
    ]
    assert named == ["torch", "torchcodec", "numba"]
    assert set(named[:2]) <= set(LEFT_OUT)
