"""`floor health` and `floor verify`: who is asked, by whom, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest

from floor.errors import BoxError
from floor.operations import checks
from tests.simulated.situation import Situation

UNIT = "floor-copy-flagship.service"


def test_every_backend_is_asked_by_a_proxy_box(deployed: Situation) -> None:
    found = checks.verdicts(deployed.site())
    assert [(one["backend"], one["state"]) for one in found] == [("flagship@spark-a", "OK"), ("flagship@spark-b", "OK")]
    assert deployed.world.log == ["spark-a engine.check"] * 2


def test_by_the_next_one_where_that_does_not_answer(deployed: Situation) -> None:
    deployed.box("spark-a").up = False
    found = checks.verdicts(deployed.site())
    assert [one["state"] for one in found] == ["CRITICAL", "OK"]
    assert deployed.world.log == ["spark-b engine.check"] * 2


def test_one_that_cannot_be_asked_is_unknown(deployed: Situation) -> None:
    for box in deployed.world.boxes.values():
        box.up = False
    found = checks.verdicts(deployed.site())
    assert [(one["state"], one["reason"], one["evidence"]) for one in found] == [
        ("UNKNOWN", "unknown", "spark-a: no way there")
    ] * 2
    deployed.box("spark-a").up = True
    deployed.box("spark-a").refuses = BoxError("spark-a: asks for the engine key, and this box has none")
    assert checks.verdicts(deployed.site())[0]["evidence"] == "spark-a: asks for the engine key, and this box has none"


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([], 3),
        (["OK", "OK"], 0),
        (["OK", "UNKNOWN"], 3),
        (["UNKNOWN", "WARNING"], 1),
        (["UNKNOWN", "CRITICAL", "OK"], 2),
        (["WARNING", "CRITICAL"], 2),
    ],
)
def test_the_gravest_decides(states: list[str], code: int) -> None:
    assert checks.exit_code([{"state": state} for state in states]) == code


def lines(situation: Situation) -> list[str]:
    return [finding.line for finding in checks.verify(situation.site())]


def test_a_deployment_that_is_well(deployed: Situation) -> None:
    assert lines(deployed)[:4] == [
        "ok  spark-a: flagship@spark-a is in the pool: looked at http://192.0.2.11:8000",
        "ok  spark-a: flagship@spark-b is in the pool: looked at http://192.0.2.12:8000",
        "ok  spark-a: chat with flagship: 200, 0.10 s",
        "ok  spark-a: streamed chat with flagship: 200, 3 events, 0.10 s",
    ]


def test_a_model_for_embeddings_is_asked_for_one(deployed: Situation) -> None:
    deployed.edit("    utilization: 0.4\n", "    utilization: 0.4\n    task: embed\n")
    assert [line for line in lines(deployed) if "in the pool" not in line] == [
        "ok  spark-a: embedding with flagship: 200, 0.10 s",
        "ok  spark-b: embedding with flagship: 200, 0.10 s",
    ]


def test_one_that_is_out_fails_and_one_that_a_person_drained_does_not(deployed: Situation) -> None:
    drain = {"backend": "flagship@spark-b", "holder": "ada@laptop", "epoch": None, "last": False}
    deployed.box("spark-a").calls.answer("drain.add", drain)
    deployed.world.hung.add("flagship@spark-a")
    deployed.world.sleep(2)
    assert lines(deployed)[:2] == [
        "FAILED  spark-a: flagship@spark-a is not in the pool: as a test wants it",
        "ok  spark-a: flagship@spark-b is not in the pool: drained by ada@laptop",
    ]


def test_one_that_comes_back_in_a_moment_is_waited_for(deployed: Situation) -> None:
    """What an operation that was killed had drained returns by itself, and the pool may make it serve a while first."""
    deployed.world.hung.add("flagship@spark-a")
    deployed.world.sleep(2)
    began = deployed.world.now
    deployed.world.before = lambda: deployed.world.hung.clear() if deployed.world.now > began + 3 else None
    found = checks.verify(deployed.site(), 60)
    assert found[0].line.startswith("ok  spark-a: flagship@spark-a is in the pool, after ")


def test_a_box_that_does_not_answer_fails_and_the_others_are_checked(deployed: Situation) -> None:
    deployed.box("spark-a").up = False
    found = lines(deployed)
    assert found[0] == "FAILED  spark-a: no way there"
    assert len(found) == 5


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"status": None, "events": 0, "error": "ConnectError: refused"}, "ConnectError: refused"),
        ({"status": 503, "events": 0, "error": "not an answer of the OpenAI API"}, "503, not an answer"),
        ({"status": 200, "events": 3, "error": "the stream ended without data: [DONE]"}, "200, 3 events, the stream"),
        ({"status": 200, "events": 0, "error": None}, "200, 0 events, no text came"),
    ],
)
def test_a_chat_that_fails(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], told: str
) -> None:
    for box in deployed.world.boxes.values():
        monkeypatch.setattr(box.calls, "verify_chat", lambda _: {**answer, "seconds": 1.0, "text": ""})
    found = [line for line in lines(deployed) if "streamed chat" in line]
    assert all(line.startswith("FAILED  spark-") for line in found)
    assert all(f"streamed chat with flagship: {told}" in line for line in found)


def test_a_box_that_fails_in_the_middle_of_a_chat(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> Any:
        raise BoxError("spark-a: the agent there was killed")

    monkeypatch.setattr(deployed.box("spark-a").calls, "verify_chat", fail)
    assert "FAILED  spark-a: chat with flagship: spark-a: the agent there was killed" in lines(deployed)
