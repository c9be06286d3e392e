"""The scenarios: sixty, each of which can be done, by its own words and nobody's memory."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from floor.errors import FloorError
from floor.tooltest.contract.schema import fits
from floor.tooltest.suite import nonces, read
from floor.tooltest.suite.filled import content, fill, plain
from floor.tooltest.suite.scenario import KINDS, Scenario
from floor.tooltest.trial.record import WHOLE
from tests.unit.tooltest.exchanges import played, scenario

SUITE = read.suite()


def test_there_are_five_of_each_kind() -> None:
    assert Counter(one.kind for one in SUITE) == dict.fromkeys(KINDS, 5)
    assert len({one.id for one in SUITE}) == 60
    assert len({one.title for one in SUITE}) == 60


def test_one_list_has_fifty_tools() -> None:
    assert len(scenario("select/one-of-fifty").tools) == 50


@pytest.mark.parametrize("one", SUITE, ids=lambda one: one.id)
def test_a_scenario_makes_sense(one: Scenario) -> None:
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in one.tools}
    filled = fill(one, 0, 0).scenario
    assert not nonces.PLACE.search(json.dumps([str(filled.turns), filled.system, list(filled.history)]))
    for turn in filled.turns:
        for call in turn.calls:
            assert fits(plain(call.args), tools[call.tool]), call
        assert turn.calls or turn.says or turn.says_any, "nothing is wanted"
        if isinstance(turn.choice, dict):
            assert turn.choice["tool"] in tools
    assert one.harmless <= set(tools)


def said(one: Scenario, until: int) -> str:
    """Everything that a model has read before its answer to a turn, results of that turn's calls included."""
    filled = fill(one, 0, 0).scenario
    texts = [filled.system, json.dumps(filled.history, ensure_ascii=False)]
    for turn in filled.turns[: until + 1]:
        texts += [turn.user, *(content(call.result) for call in turn.calls)]
    return "\n".join(texts)


@pytest.mark.parametrize("one", SUITE, ids=lambda one: one.id)
def test_what_a_model_must_say_can_be_known(one: Scenario) -> None:
    """Every value that an answer must hold, and that differs from run to run, was told before."""
    values = [str(value) for value in nonces.make(one.nonces, 0, one.id, 0).values()]
    for number, turn in enumerate(fill(one, 0, 0).scenario.turns):
        wanted = json.dumps([turn.says, [plain(call.args) for call in turn.calls]], ensure_ascii=False)
        told = said(one, number)
        assert all(value in told for value in values if value in wanted)


@pytest.mark.parametrize("one", [one for one in SUITE if any(turn.calls for turn in one.turns)], ids=lambda one: one.id)
def test_a_result_cannot_be_guessed(one: Scenario) -> None:
    """Whoever calls nothing cannot say what is wanted: words that come from a result stand nowhere else."""
    filled = fill(one, 0, 0).scenario
    asked = [filled.system, json.dumps(filled.history), *(turn.user for turn in filled.turns)]
    for turn in filled.turns:
        results = " ".join(content(call.result) for call in turn.calls)
        from_results = [text for text in turn.says if text in results]
        assert all(not any(text in one for one in asked) for text in from_results)


def test_values_are_decided_by_seed_scenario_and_trial() -> None:
    kinds = dict.fromkeys(("a", "b", "c"), "code")
    made = nonces.make(kinds, 1, "x", 0)
    assert made == nonces.make(kinds, 1, "x", 0)
    others = [nonces.make(kinds, *more) for more in ((2, "x", 0), (1, "y", 0), (1, "x", 1))]
    assert all(made["a"] != other["a"] for other in others)


@pytest.mark.parametrize("kind", sorted(nonces.KINDS))
def test_a_value_is_found_again_by_its_pattern(kind: str) -> None:
    values = nonces.make({f"v{number}": kind for number in range(20)}, 0, "x", 0)
    assert all(re.fullmatch(nonces.pattern(kind), str(value)) for value in values.values())
    assert len(set(values.values())) == 20


def test_a_placeholder_alone_keeps_the_type_of_its_value() -> None:
    assert nonces.fill({"a": "${n}", "b": ["no ${n}"]}, {"n": 7}) == {"a": 7, "b": ["no 7"]}


@pytest.mark.parametrize(("name", "words"), [("long/early-8k", 6000), ("long/middle-32k", 24000)])
def test_a_long_scenario_is_as_long_as_it_says(name: str, words: int) -> None:
    text = fill(scenario(name), 0, 0).scenario.turns[0].user
    assert words <= len(text.split()) <= words * 1.02


def test_trials_of_one_scenario_differ() -> None:
    texts = {fill(scenario("select/one-of-three"), 0, trial).scenario.turns[0].user for trial in range(20)}
    assert len(texts) == 20


def test_the_digest_is_that_of_the_files() -> None:
    assert re.fullmatch("[0-9a-f]{16}", read.digest())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"tool": ["x"]},
            "scenario a/b: 'tool' is none of harmless, history, nonces, optional, system, title, tools, turns",
        ),
        ({"tools": ["no_such"]}, "scenario a/b: 'no_such' is none of well_depth"),
        ({"nonces": {"x": "colour"}}, "scenario a/b: 'colour' is none of code, day, id, int, name, word"),
        ({"turns": [{"usr": ""}]}, "scenario a/b: 'usr' is none of calls, choice, document, never, parallel, reply"),
    ],
)
def test_a_scenario_that_cannot_be_meant_is_told(change: dict[str, Any], words: str) -> None:
    spec = {"title": "t", "tools": ["well_depth"], "turns": [{"user": "u"}]} | change
    with pytest.raises(FloorError, match=re.escape(words)):
        read._scenario("a", "b", spec, {"well_depth": {}})


def test_a_model_that_does_some_scenarios_has_their_share_as_its_score() -> None:
    """A known mix has its computed score."""
    able = [one for at, one in enumerate(SUITE) if one.kind != "long" and at % 3]
    others = [one for at, one in enumerate(SUITE) if one.kind != "long" and not at % 3]
    records = [played(one, WHOLE) for one in able] + [played(one, WHOLE, "silent") for one in others]
    from floor.tooltest.verdict import score

    assert score.behaviour(records) == pytest.approx(100 * len(able) / (len(able) + len(others)))
