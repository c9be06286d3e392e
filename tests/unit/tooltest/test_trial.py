"""A trial: what is asked, what goes back, and what it is worth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from floor.tooltest.suite.filled import Filled
from floor.tooltest.suite.scenario import Scenario, Turn, Wanted
from floor.tooltest.trial.judge import judge
from floor.tooltest.trial.play import MOST_STEPS, Request, Transcript, play
from floor.tooltest.trial.record import STREAMED, WHOLE, Record, mode
from floor.tooltest.trial.recorded import LONGEST, record, unanswered
from floor.tooltest.wire.exchange import REFUSED, Exchange
from tests.unit.tooltest.exchanges import called, tool, whole

PART = Wanted("stock_level", {"part": "A"}, {"pieces": 7})
OTHER = Wanted("stock_level", {"part": "B"}, {"pieces": 8})


def a_scenario(*turns: Turn, **more: Any) -> Scenario:
    """A scenario without values that differ."""
    tools = (tool(), tool("shelf"), tool("bell", times={"type": "integer"}))
    return Scenario("s", "select", "title", tools, turns, {}, **more)


def turn(*calls: Wanted, **more: Any) -> Turn:
    return Turn("How many?", calls, **more)


Answers = Sequence[dict[str, Any] | Exchange]


def conversation(scenario: Scenario, answers: Answers) -> tuple[list[dict[str, Any]], Transcript]:
    """The requests of a trial in which the server gives these answers, and what happened."""
    leading = play(Filled(scenario, 0), Request("m", stream=False, sampling={"temperature": 0.5}, system="Be kind."))
    requests = [next(leading)]
    for answer in answers:
        try:
            requests.append(
                leading.send(answer if isinstance(answer, Exchange) else whole(answer, request=requests[-1]))
            )
        except StopIteration as end:
            return requests, end.value
    raise AssertionError(f"more is asked: {requests[-1]['messages'][-1]}")


def worth(scenario: Scenario, answers: Answers) -> tuple[float, str]:
    return judge(conversation(scenario, answers)[1], len(scenario.turns))


def calls(*parts: str, name: str = "stock_level") -> dict[str, Any]:
    """An answer that calls a tool for each part."""
    listed = [called(name, json.dumps({"part": part}), f"c{at}{part}") for at, part in enumerate(parts)]
    return {"content": None, "tool_calls": listed}


WORDS = {"content": "There are 7 pieces."}


def test_requests_carry_what_was_asked_for() -> None:
    first, second = conversation(a_scenario(turn(PART), system="Count."), [calls("A"), WORDS])[0]
    assert first["messages"] == [
        {"role": "system", "content": "Be kind.\n\nCount."},
        {"role": "user", "content": "How many?"},
    ]
    assert (first["model"], first["temperature"]) == ("m", 0.5)
    assert not {"tool_choice", "stream", "parallel_tool_calls"} & first.keys()
    assert second["messages"][2:] == [
        {"role": "assistant", "content": None, "tool_calls": [called(arguments='{"part": "A"}', id_="c0A")]},
        {"role": "tool", "tool_call_id": "c0A", "content": '{"pieces": 7}'},
    ]


def test_a_choice_goes_with_the_first_request_alone() -> None:
    scenario = a_scenario(turn(PART, choice={"tool": "stock_level"}, parallel=False))
    first, second = conversation(scenario, [calls("A"), WORDS])[0]
    assert first["tool_choice"] == {"type": "function", "function": {"name": "stock_level"}}
    assert "tool_choice" not in second
    assert first["parallel_tool_calls"] is second["parallel_tool_calls"] is False


def test_a_call_without_an_id_gets_one_on_its_way_back() -> None:
    answer = {"content": "", "tool_calls": [called(arguments="broken", id_=None)]}
    second = conversation(a_scenario(turn(PART)), [answer, WORDS])[0][1]
    assistant, result = second["messages"][-2:]
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"] == "call_without_id_0"
    assert assistant["tool_calls"][0]["function"]["arguments"] == "{}"
    assert json.loads(result["content"]) == {"error": "the arguments are no JSON object"}


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        ([calls("A"), WORDS], (1, "")),
        ([calls("A", "A"), WORDS], (0.5, "1 harmless calls too many")),
        ([calls("A"), calls("A"), WORDS], (0.5, "1 harmless calls too many")),
        ([calls("A"), calls("C", name="shelf"), WORDS], (0, "called shelf(part='C')")),
        ([calls("C"), calls("A"), WORDS], (0, "called stock_level(part='C')")),
        ([WORDS], (0, "did not call stock_level")),
        ([calls("A"), {"content": "Some."}], (0, "did not say '7'")),
        (
            [{"tool_calls": [called(arguments="{")]}, WORDS],
            (0, "called stock_level with arguments that are no JSON object"),
        ),
        ([whole({"content": "There"}, "length")], (0, "did not call stock_level, cut off at the most tokens")),
        (
            [whole({"tool_calls": [called(arguments="{")]}, "length"), whole({"content": "T"}, "length")],
            (0, "called stock_level with arguments that are no JSON object, cut off at the most tokens"),
        ),
        ([calls("A")] * MOST_STEPS, (0, "still called tools after 8 calls")),
        ([Exchange({}, None, failure=REFUSED)], (0, "refused after 0 s")),
        ([Exchange({}, 500, b"oops", "text/plain")], (0, "HTTP 500: oops")),
        ([Exchange({}, 200, b"oops", "text/plain")], (0, "malformed: the body is no JSON: b'oops'")),
    ],
)
def test_what_a_trial_is_worth(answers: Answers, wanted: tuple[float, str]) -> None:
    assert worth(a_scenario(turn(PART, says=("7",))), answers) == wanted


def test_harmless_tools_may_be_called_besides() -> None:
    scenario = a_scenario(turn(PART), harmless=frozenset({"shelf"}))
    assert worth(scenario, [calls("C", name="shelf"), calls("A"), WORDS]) == (0.5, "1 harmless calls too many")


def test_the_same_call_may_be_wanted_twice() -> None:
    busy = Wanted("stock_level", {"part": "A"}, {"error": "busy"})
    requests, found = conversation(a_scenario(turn(busy, PART)), [calls("A"), calls("A"), WORDS])
    assert [one["messages"][-1]["content"] for one in requests[1:]] == ['{"error": "busy"}', '{"pieces": 7}']
    assert judge(found, 1) == (1, "")


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        ([calls("A", "B"), WORDS], (1, "")),
        ([calls("B", "A"), WORDS], (1, "")),
        ([calls("A"), calls("B"), WORDS], (0, "at most 1 of 2 calls came in one answer")),
    ],
)
def test_calls_that_belong_together_come_in_one_answer(answers: Answers, wanted: tuple[float, str]) -> None:
    assert worth(a_scenario(turn(PART, OTHER, together=True)), answers) == wanted


def test_a_turn_may_end_with_its_calls() -> None:
    requests, found = conversation(a_scenario(turn(PART, until_called=True), turn(says=("7",))), [calls("A"), WORDS])
    assert requests[1]["messages"][-1] == {"role": "user", "content": "How many?"}
    assert judge(found, 2) == (1, "")


def test_a_turn_that_is_never_reached_is_not_right() -> None:
    assert worth(a_scenario(turn(PART), turn(OTHER)), [calls("A"), *[calls("A")] * 7]) == (
        0,
        "still called tools after 8 calls",
    )


@pytest.mark.parametrize(
    ("more", "text", "wanted"),
    [
        ({"says": ("AB-12",)}, "It is **ab\u201112**.", 1),
        ({"says": ("1234",)}, "It is 1,234 in all", 1),
        ({"says": ("12",)}, "It is 1, 2 or 3", 0),
        ({"says_any": ("?", "which")}, "Which one", 1),
        ({"says_any": ("?",)}, "That one", 0),
        ({"never": ("no",)}, "No", 0),
    ],
)
def test_words_are_compared_as_people_read_them(more: dict[str, Any], text: str, wanted: float) -> None:
    assert worth(a_scenario(turn(**more)), [{"content": text}])[0] == wanted


def test_optional_arguments_may_be_given_with_their_right_value_only() -> None:
    def answer(times: int) -> dict[str, Any]:
        return {"tool_calls": [called(arguments=json.dumps({"part": "A", "times": times}))]}

    scenario = a_scenario(turn(PART), optional={"stock_level": {"times": [1]}})
    assert worth(scenario, [answer(1), WORDS])[0] == 1
    assert worth(scenario, [answer(2), WORDS])[0] == 0


def test_a_check_that_broke_once_is_broken_in_its_trial() -> None:
    scenario = a_scenario(turn(PART, OTHER))
    found = conversation(scenario, [whole(calls("A"), "stop"), calls("B"), WORDS])[1]
    assert found.checks["finish"] == "finish_reason is 'stop' beside 1 calls"
    assert found.first_calls is True


def test_a_record_keeps_the_exchanges_of_failures_alone() -> None:
    scenario = a_scenario(turn(PART, says=("7",)))
    good = record(scenario, 0, WHOLE, conversation(scenario, [calls("A"), WORDS])[1], 1.0)
    bad = record(scenario, 0, WHOLE, conversation(scenario, [whole({"content": "x" * 9000})])[1], 1.0)
    assert (good.score, good.exchanges) == (1, ())
    assert len(bad.exchanges) == 1
    assert len(bad.exchanges[0]["body"]) < LONGEST + 100
    assert "characters…" in bad.exchanges[0]["body"]
    assert Record.of(json.loads(json.dumps(bad.document()))) == bad


def test_an_endpoint_that_fails_is_told_from_a_server_that_refuses() -> None:
    scenario = a_scenario(turn(PART))
    down = record(scenario, 0, WHOLE, conversation(scenario, [Exchange({}, None, failure=REFUSED)])[1], 1.0)
    error = record(scenario, 0, WHOLE, conversation(scenario, [Exchange({}, 500, b"oops")])[1], 1.0)
    assert (unanswered(down), down.error) == (True, "refused after 0 s")
    assert (unanswered(error), error.error) == (False, "HTTP 500: oops")


def test_streamed_and_whole_trials_alternate() -> None:
    assert [mode(trial) for trial in range(3)] == [STREAMED, WHOLE, STREAMED]
    assert [mode(0, place) for place in range(3)] == [STREAMED, WHOLE, STREAMED]
