"""The gate: what it says of which evidence, and how often."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import comb
from statistics import fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.tooltest.contract import names
from floor.tooltest.trial.record import STREAMED, WHOLE, Record, mode
from floor.tooltest.verdict import contract, curve, gate, score, statistics
from floor.tooltest.verdict.agreement import agree

SCENARIOS = curve.SCENARIOS


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a simulation


def trials(
    scores: Mapping[str, Sequence[float]], start: int = 0, checks: Mapping[str, str] | None = None
) -> list[Record]:
    """A record for each score of each scenario."""
    return [
        Record(name, name.partition("/")[0], trial, mode(trial), worth, checks=checks or {})
        for name, mine in scores.items()
        for trial, worth in zip(count(start), mine, strict=False)
    ]


def all_of(worth: float, number: int, start: int = 0, only: str = "") -> list[Record]:
    return trials({name: [worth] * number for name in SCENARIOS if name.startswith(only)}, start)


def spoilt(records: Sequence[Record], number: int, check: str = names.IDS) -> list[Record]:
    """The same trials, a check in all of them, broken in the first `number`."""
    return [replace(one, checks={check: "no id" if at < number else ""}) for at, one in enumerate(records)]


def test_the_score_is_the_mean_of_the_scenarios_means() -> None:
    records = trials({"args/1": [1, 0, 0.5], "args/2": [1], "long/1": [0, 0]})
    assert score.behaviour(records) == pytest.approx(50)
    assert score.kinds(records) == {"args": pytest.approx(75), "long": 0}
    assert score.behaviour([]) == 0


def test_right_every_time_is_what_it_is_in_the_paper() -> None:
    records = trials({"args/1": [1, 1, 0, 1], "args/2": [1, 0.5, 0, 0]})
    assert score.every_time(records, 1) == pytest.approx(50)
    assert score.every_time(records, 2) == pytest.approx(100 * (3 / 6 + 0) / 2)
    assert score.every_time(records, 5) is None


def test_fishers_test_against_its_definition() -> None:
    assert statistics.fisher((1, 10), (9, 10)) == pytest.approx(
        sum(comb(10, x) * comb(10, 10 - x) for x in (0, 1)) / comb(20, 10)
    )
    assert statistics.fisher((5, 5), (5, 5)) == 1


@settings(max_examples=40)
@given(st.integers(0, 8), st.integers(0, 8))
def test_fewer_successes_are_less_likely(fewer: int, more: int) -> None:
    assert 0 <= statistics.fisher((min(fewer, more), 8), (max(fewer, more), 8)) <= 1


def test_the_standard_error_is_that_of_many_gates() -> None:
    """What two builds that are alike differ by, again and again, against what one such pair says of it."""
    of = seeded(1)
    one = curve.model(of, 0.8)
    means, errors = [], []
    for _ in range(300):
        before, after = (score.by_scenario(one.trials(of, 0, count)) for count in (10, 8))
        means.append(fmean(fmean(after[name]) - fmean(before[name]) for name in before))
        errors.append(statistics.standard_error(before, after))
    assert fmean(errors) == pytest.approx(stdev(means), rel=0.1)
    assert statistics.standard_error({}, {"args/0": [1]}) == 0


def test_the_same_trials_pass_at_once() -> None:
    said = gate.decide(all_of(1, 10), all_of(1, 3))
    assert (said.word, said.difference, said.low, said.could_see) == (gate.PASS, 0, 0, 0)
    assert said.reasons == ("no contract check broke, and it lost less than 5 points (at most 0.0)",)


def test_a_dead_kind_is_blocked_at_once() -> None:
    candidate = all_of(1, 3)
    dead = [replace(one, score=0.0) if one.kind == "chain" else one for one in candidate]
    said = gate.decide(all_of(1, 10), dead)
    assert (said.word, said.reasons) == (gate.BLOCK, ("chain collapsed from 100 to 0",))


def test_a_kind_that_was_never_good_cannot_collapse() -> None:
    baseline = all_of(1, 10)
    bad = [replace(one, score=0.0) if one.kind == "chain" and one.trial < 3 else one for one in baseline]
    candidate = [replace(one, score=0.0) if one.kind == "chain" else one for one in all_of(1, 3)]
    assert gate.decide(bad, candidate).word == gate.MORE


def test_a_drop_asks_for_fresh_trials_and_blocks_after_them() -> None:
    worse = {name: [1, 1, 0] if at % 4 == 0 else [1, 1, 1] for at, name in enumerate(SCENARIOS)}
    first = gate.decide(all_of(1, 10), trials(worse))
    assert (first.word, first.reasons[0]) == (gate.MORE, "behaviour fell by 8.3 points, between 5.9 and 10.8")
    fresh = trials({name: [1, 0, 0, 1, 1] if at % 4 == 0 else [1] * 5 for at, name in enumerate(SCENARIOS)}, 3)
    last = gate.decide(all_of(1, 10), trials(worse), fresh)
    assert last.word == gate.BLOCK
    assert last.reasons[0].startswith("behaviour fell by 9.4 points")


def test_a_drop_that_was_chance_passes_after_fresh_trials() -> None:
    unlucky = {name: [1, 1, 0] if at % 4 == 0 else [1, 1, 1] for at, name in enumerate(SCENARIOS)}
    baseline = trials({name: [1] * 9 + [0] if at % 4 == 1 else [1] * 10 for at, name in enumerate(SCENARIOS)})
    assert gate.decide(baseline, trials(unlucky), all_of(1, 5, 3)).word == gate.PASS


def test_too_little_evidence_is_held() -> None:
    of = seeded(5)
    unsure = curve.Model(dict.fromkeys(SCENARIOS, 0.5))
    words = set()
    for _ in range(12):
        before, first, fresh = unsure.trials(of, 0, 2), unsure.trials(of, 0, 1), unsure.trials(of, 1, 1)
        words.add(gate.decide(before, first, fresh).word)
    assert gate.HOLD in words
    assert gate.MORE not in words


def test_a_copy_of_a_build_that_passed_needs_no_proof() -> None:
    quick = [name for name in SCENARIOS if name.endswith(("/0", "/1"))]
    baseline = trials({name: [1] * 7 + [0] * 3 for name in quick})
    candidate = trials({name: [float(at % 3 > 0)] for at, name in enumerate(quick)})
    assert gate.decide(baseline, candidate).word == gate.MORE
    said = gate.decide(baseline, candidate, identical=True)
    assert (said.word, said.reasons) == (gate.PASS, ("nothing speaks against this copy of a build that has passed",))


@pytest.mark.parametrize(
    ("before", "first", "fresh", "word"),
    [
        (0, 0, None, gate.PASS),
        (0, 1, None, gate.PASS),  # a single failure is no pattern
        (0, 2, None, gate.MORE),
        (0, 2, 0, gate.PASS),  # and not again
        (0, 2, 1, gate.BLOCK),
        (0, 0, 9, gate.HOLD),  # only in the fresh ones: nobody has tried it again
        (6, 2, None, gate.PASS),  # 6 of 600 before: no more often than then
        (6, 20, None, gate.MORE),
        (6, 20, 20, gate.BLOCK),
        (31, 180, None, gate.PASS),  # held in fewer than 95 of 100 before: it tells nothing
    ],
)
def test_a_contract_check_blocks_when_it_breaks_again(before: int, first: int, fresh: int | None, word: str) -> None:
    more = () if fresh is None else spoilt(all_of(1, 5, 3), fresh)
    assert gate.decide(spoilt(all_of(1, 10), before), spoilt(all_of(1, 3), first), more).word == word


def test_a_broken_check_is_named_with_an_example() -> None:
    said = gate.decide(spoilt(all_of(1, 10), 0), spoilt(all_of(1, 3), 4), spoilt(all_of(1, 5, 3), 1))
    assert said.reasons == ("ids broke in 5 of 480 trials (0 of 600 before), first in select/0: no id",)
    assert isinstance(said.broken[0], contract.Broken)


def test_only_scenarios_that_both_have_are_compared() -> None:
    said = gate.decide(all_of(1, 10), all_of(1, 3, only="args") + all_of(0, 3, only="nothing"))
    assert (said.baseline, said.candidate) == (100, 100)


def test_the_same_trials_give_the_same_verdict() -> None:
    of = seeded(7)
    one = curve.model(of, 0.8)
    baseline, candidate = one.trials(of, 0, 10), one.trials(of, 0, 3)
    assert gate.decide(baseline, candidate) == gate.decide(baseline, candidate)


def test_the_smallest_drop_that_it_could_see_is_in_the_range_that_the_curve_shows() -> None:
    """With skills as of real models: between 4 and 8 points at 60 scenarios."""
    of = seeded(3)
    one = curve.model(of, 0.8)
    said = gate.decide(one.trials(of, 0, 10), one.trials(of, 0, 3), one.trials(of, 3, 5))
    assert 4 < said.could_see < 8


def test_the_operating_curve_is_that_of_the_document() -> None:
    """A few gates a row: the figures of docs/tooltest.md are from many more."""
    found = curve.curve(4)
    assert found["nothing"][gate.BLOCK] <= 1
    assert found["10 points less"][gate.BLOCK] >= 3
    assert found["one kind dead"][gate.BLOCK] >= 3
    assert found["a check fails in 1 of 20 trials"][gate.BLOCK] >= 3


def test_a_weaker_model_is_weaker_by_so_much() -> None:
    one = curve.model(seeded(1), 0.8)
    means = [sum(each.skill.values()) / 60 for each in (one, curve.weaker(one, 5))]
    assert means[0] - means[1] == pytest.approx(0.05)


def modes(streamed: Sequence[bool], whole: Sequence[bool]) -> list[Record]:
    """Trials of scenarios of their own, streamed ones and whole ones; each calls first or does not."""
    found = []
    for place, pair in enumerate(zip(streamed, whole, strict=True)):
        for trial, (way, calls) in enumerate(zip((STREAMED, WHOLE), pair, strict=True)):
            found.append(Record(f"args/{place}", "args", trial, way, float(calls), first_calls=calls))
    return found


def test_streams_that_lose_calls_disagree() -> None:
    records = modes([False] * 20 + [True] * 20, [True] * 40)
    found = agree(records, frozenset(one.scenario for one in records))
    failed = [one for one in found if one.checks[names.AGREEMENT]]
    assert {(one.mode, one.first_calls) for one in failed} == {(STREAMED, False)}
    assert len(failed) == 20
    assert failed[0].checks[names.AGREEMENT] == "streamed answers called in 20 of 40 trials, whole ones in 40"


def test_a_model_that_is_unsure_agrees_with_itself() -> None:
    of = seeded(9)
    records = modes([of.random() < 0.5 for _ in range(60)], [of.random() < 0.5 for _ in range(60)])
    found = agree(records, frozenset(one.scenario for one in records))
    assert not any(one.checks[names.AGREEMENT] for one in found)


def test_a_fault_that_another_check_tells_is_no_disagreement() -> None:
    records = [
        replace(one, checks={names.CALL_IN_CONTENT: "a tag"}) if one.mode == STREAMED else one
        for one in modes([False] * 40, [True] * 40)
    ]
    found = agree(records, frozenset(one.scenario for one in records))
    assert not any(one.checks.get(names.AGREEMENT) for one in found)


def test_two_that_share_no_scenario_cannot_pass() -> None:
    said = gate.decide(all_of(1, 10, only="args"), all_of(1, 3, only="long"))
    assert (said.word, said.reasons) == (gate.HOLD, ("the two have no scenario in common",))
