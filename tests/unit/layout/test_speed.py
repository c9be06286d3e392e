"""The speed model against published speeds: those that it was fitted on, and above all those that it was not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floor.layout.cache import Setting
from floor.layout.cards import named
from floor.layout.fit import Shown, constants, median, predict, shown, solve
from floor.layout.rows import BATCHES, ONE_STREAM, PROMPTS, Row
from floor.layout.speed import Load, Stage, one_stream, reading, together
from floor.layout.weights import computed
from tests.unit.layout.models import published

SETS = {"one stream": ONE_STREAM, "several at once": BATCHES, "prompts": PROMPTS}


def _held(rows: tuple[Row, ...]) -> list[Shown]:
    return [row for row in shown(rows) if not row.row.fit]


@pytest.mark.parametrize("name", SETS)
def test_half_of_the_rows_that_were_not_fitted_are_within_15_percent(name: str) -> None:
    held = _held(SETS[name])
    assert len(held) >= 0.4 * len(SETS[name])
    assert median([row.error for row in held]) <= 0.15


def test_models_that_are_held_out_are_held_out_with_every_row_and_in_every_set() -> None:
    """On the card with most models; of the source's five, the second and the fourth, and those of other sources."""
    rows = [row for row in (*ONE_STREAM, *BATCHES, *PROMPTS) if row.card == "gb10" and row.tp == 1]
    fitted = {row.model for row in rows if row.fit}
    assert fitted == {"gpt-oss-20b", "Qwen3-Coder-30B", "gemma-3-4b"}
    assert {row.model for row in rows if not row.fit} == {"gpt-oss-120b", "Qwen2.5-7B", "Llama 70B"}


def test_that_tokens_choose_experts_alike_is_seen_in_the_fitted_rows_alone() -> None:
    fitted = [row for row in BATCHES if row.fit]
    found = constants()
    errors = {
        alike: [predict(row, replace(found, alike=alike)) / row.speed - 1 for row in fitted]
        for alike in (1.0, found.alike)
    }
    assert median(errors[found.alike]) < 0.9 * median(errors[1.0])


def test_least_squares_find_what_the_rows_were_made_of() -> None:
    rows = [[1.0, 2.0, 0.5], [0.3, 1.0, 4.0], [2.0, 0.1, 1.0], [1.0, 1.0, 1.0]]
    wanted = [sum(factor * weight for factor, weight in zip(row, (3.0, 0.5, 2.0), strict=True)) for row in rows]
    assert solve(rows, wanted) == pytest.approx([3.0, 0.5, 2.0])


def test_one_stream_is_closer_than_that() -> None:
    assert median([row.error for row in _held(ONE_STREAM)]) <= 0.08


def test_constants_are_shares_and_times_that_can_be() -> None:
    found = constants()
    assert all(0.5 < share < 1 for share in found.efficiency.values())
    assert all(0 <= seconds < 0.01 for seconds in found.fixed.values())
    assert all(0.05 < share < 0.6 for share in found.reading)
    assert 0.5 < found.alike <= 1
    assert 1e-6 < found.hop[0] < 1e-3


@pytest.mark.parametrize(("values", "middle"), [([3, -1, 2], 2), ([4, -2], 3), ([-0.5], 0.5)])
def test_the_median_is_that_of_sizes(values: list[float], middle: float) -> None:
    assert median(values) == middle


GB10, BIG = named("gb10"), named("rtx-5090")


def _load(tp: int = 1, drafts: int = 0) -> Load:
    shape = published("qwen3-coder-30b")
    return Load(shape, computed(shape, 8.5), Setting(tp=tp), drafts)


def test_a_pipeline_brings_one_stream_nothing_and_many_much() -> None:
    whole, halves = [Stage((GB10,), 0, 48)], [Stage((GB10,), 0, 24), Stage((GB10,), 24, 48)]
    one = one_stream(_load(), whole, 1024, constants())
    assert one_stream(_load(), halves, 1024, constants(), boxes=2) == pytest.approx(one, rel=0.02)
    assert one_stream(_load(), halves, 1024, constants(), boxes=2) < one
    many = together(_load(), whole, 16, 1024, constants())
    assert together(_load(), halves, 16, 1024, constants(), boxes=2) > 1.3 * many


def test_the_slowest_stretch_sets_the_pace() -> None:
    even = [Stage((BIG,), 0, 24), Stage((GB10,), 24, 48)]
    less = [Stage((BIG,), 0, 40), Stage((GB10,), 40, 48)]
    assert together(_load(), less, 16, 1024, constants()) > 2 * together(_load(), even, 16, 1024, constants())


def test_cards_that_share_layers_are_quicker_and_a_fabric_costs() -> None:
    one = one_stream(_load(), [Stage((GB10,), 0, 48)], 1024, constants())
    inside = one_stream(_load(2), [Stage((GB10, GB10), 0, 48)], 1024, constants())
    across = one_stream(_load(2), [Stage((GB10, GB10), 0, 48, across=True)], 1024, constants(), boxes=2)
    assert one < across < inside < 2 * one


def test_long_requests_are_slower_and_long_prompts_take_more_than_their_share() -> None:
    stages = [Stage((GB10,), 0, 48)]
    speeds = [one_stream(_load(), stages, depth, constants()) for depth in (0, 8192, 32768, 131072)]
    assert speeds == sorted(speeds, reverse=True)
    assert reading(_load(), stages, 32768, constants()) > 4 * reading(_load(), stages, 8192, constants())


def test_drafts_bring_more_tokens_a_step_than_their_reading_costs() -> None:
    stages = [Stage((GB10,), 0, 48)]
    assert one_stream(_load(drafts=2), stages, 1024, constants()) > one_stream(_load(), stages, 1024, constants())
    assert _load(drafts=2).per_step == pytest.approx(1 + 0.6 + 0.36)
