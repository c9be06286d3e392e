"""An engine that could not start is found before anything stops: the program and the weights, as its user."""

from __future__ import annotations

import pytest

from floor.agent.call import Call
from floor.agent.calls import launch
from floor.agent.params import Params
from floor.box.command import Result
from tests.unit.agent.conftest import Box

SOURCE = "/models/flagship"
PROGRAM = "/opt/vllm/bin/vllm"


def problems(box: Box, answers: dict[str, Result]) -> list[str]:
    """What the call says where each program (the first word after those that change the user) ends as told."""

    def ran(argv: list[str]) -> Result:
        word = argv[4] if argv[0] == "runuser" else argv[0]
        return answers.get(word, Result(0, "", ""))

    params = Params("launch.check", {"user": "floor", "program": PROGRAM, "source": SOURCE})
    return list(launch.check(Call(params, root=box.root, run=ran))["problems"])


def test_what_can_be_started_has_no_problem(box: Box) -> None:
    assert problems(box, {}) == []


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (
            {"id": Result(1, "", "no such user")},
            "there is no user floor; `floor setup` makes the user floor, others are yours to make",
        ),
        (
            {"test": Result(1, "", "")},
            "user floor cannot run /opt/vllm/bin/vllm; is it there, and may that user reach it?",
        ),
        (
            {"find": Result(0, "/models/flagship/model.safetensors\n", "")},
            "user floor cannot read /models/flagship/model.safetensors; try: chmod -R a+rX /models/flagship",
        ),
        (
            {"find": Result(1, "", "find: Permission denied")},
            "user floor cannot read /models/flagship; try: chmod -R a+rX /models/flagship",
        ),
    ],
)
def test_what_its_user_cannot_do_is_named(box: Box, answers: dict[str, Result], told: str) -> None:
    assert problems(box, answers) == [told]
