"""The factory floor: two GB10 and one model. What its owners chose is what is recommended, for the reasons they had."""

from __future__ import annotations

import pytest

from floor.layout.advice import Advice, advise
from floor.layout.cards import GIB
from floor.layout.fit import constants
from floor.layout.fleet import Want
from floor.layout.layouts import Found, find
from floor.layout.ledger import Books, Ledger
from tests.unit.layout.fleets import LEFT, WEIGHTS, sparks, want


def _advice(model: Want) -> tuple[Found, Advice]:
    found = find(Books(model, constants()), sparks())
    return found, advise(model, found.layouts, sparks(), constants())


def _tokens(kv_cache: str, room: float) -> int:
    ledger = Ledger(want(kv_cache=kv_cache), 1)
    return ledger.table.tokens(int(room // ledger.per_block(0, ledger.layers)), 262_144)


def test_what_one_box_had_left_holds_499_110_tokens_of_bf16_under_two_full_requests() -> None:
    assert want().weights.total == pytest.approx(WEIGHTS)
    assert _tokens("auto", LEFT * GIB) == 499_110
    assert 1.9 < 499_110 / 262_144 < 2


def test_a_cache_of_fp8_holds_between_0_76_and_1_08_million_on_the_two_boxes() -> None:
    copies = _advice(want())[0].layouts[0].backends
    assert [round(copy.tokens / 1e6, 2) for copy in copies] == [1.08, 0.77]
    assert [round(copy.tokens / 262_144, 1) for copy in copies] == [4.1, 2.9]


def test_split_over_both_holds_more_than_3_million_and_12_requests() -> None:
    (split, *_) = [one for one in _advice(want())[0].layouts if one.mode == "split"]
    assert split.backends[0].holds > 3_000_000
    assert split.backends[0].at_once > 12


def test_shares_are_those_that_the_owners_settled_on() -> None:
    copies = _advice(want())[0].layouts[0].backends
    assert [use.share for copy in copies for use in copy.uses] == [0.79, 0.74]
    assert copies[1].uses[0].left > 9.5 * GIB


def test_split_is_recommended_where_two_full_requests_are_needed_and_the_cache_is_bf16() -> None:
    _, advice = _advice(want(kv_cache="auto"))
    assert advice.chosen is not None
    assert advice.chosen.title == "split by tensor over spark-a + spark-b"
    assert advice.reasons[0].startswith("it holds 2 requests of 262,144 tokens at once (")
    assert "copies on spark-a, spark-b: 1." in advice.reasons[0]
    assert "with kv_cache fp8: copies on spark-a, spark-b" in advice.changes


def test_copies_are_recommended_where_the_cache_is_fp8() -> None:
    _, advice = _advice(want())
    assert advice.chosen is not None
    assert advice.chosen.title == "copies on spark-a, spark-b"
    assert advice.enough
    assert advice.reasons[0].startswith("the model survives the loss of any one box; not so split by ")
    assert "with kv_cache auto: split by tensor over spark-a + spark-b" in advice.changes


def test_what_would_change_the_answer_is_named_and_changes_it() -> None:
    _, advice = _advice(want())
    (line,) = [line for line in advice.changes if "becomes right above" in line]
    assert line == "split by tensor over spark-a + spark-b becomes right above 2 requests of 262,144 at once"
    _, changed = _advice(want(at_once=3))
    assert changed.chosen is not None
    assert changed.chosen.title == "split by tensor over spark-a + spark-b"


def test_more_than_anything_holds_is_said_so() -> None:
    _, advice = _advice(want(at_once=60))
    assert not advice.enough
    assert advice.reasons[0].startswith("nothing that fits holds 60 requests of 262,144 tokens at once")


def test_one_stream_comes_near_what_the_owners_measured() -> None:
    """36 tokens a second with short prompts. No proof of the model: this shape is made up, and how many drafts are
    taken is assumed."""
    found, _ = _advice(want(depth=512))
    assert found.layouts[0].one == pytest.approx(36, rel=0.15)


def test_a_start_takes_as_long_as_theirs() -> None:
    found, _ = _advice(want())
    by_mode = {layout.mode: layout.backends[0].starts / 60 for layout in found.layouts}
    assert 5 < by_mode["replicas"] < 13
    assert by_mode["split"] == pytest.approx(20, rel=0.2)


def test_a_size_for_the_blocks_of_states_lets_all_of_the_cache_be_used() -> None:
    usual, told = (_advice(want(small_states=small))[0].layouts[0].backends[0] for small in (False, True))
    assert usual.tokens == told.tokens == told.holds
    assert usual.holds == pytest.approx(0.8 * told.holds, rel=0.01)


def test_without_prefix_caching_a_request_takes_fewer_blocks() -> None:
    usual, bare = (_advice(want(align=align))[0].layouts[0].backends[0] for align in (True, False))
    assert bare.blocks == usual.blocks
    assert bare.tokens == bare.holds > usual.tokens
