"""The cache arithmetic beside the published rows: stages, longest request, drafts, alignment, common pages."""

from __future__ import annotations

import pytest

from floor.errors import FloorError
from floor.layout.cache import Setting, state_bytes, table, token_bytes
from floor.layout.shape import Attention, Delta, Latent, Layer, Mixer
from tests.unit.layout.models import published

FULL = Attention(8, 128, 128)
WINDOW = Attention(8, 128, 128, window=1024)
DELTA = Delta(16, 64, 128, 128, 4)


def _layers(*mixers: Mixer | None) -> list[Layer]:
    return [Layer(mixer, 0) for mixer in mixers]


def test_a_cut_of_56_and_8_layers_leaves_what_the_larger_stage_holds() -> None:
    """Both cards have the same bytes for the cache; the small stage alone would hold 327,680 tokens."""
    here = table(_layers(*[FULL] * 64), Setting())
    available = 327_680 // 16 * here.bytes_per_block(56, 64)
    blocks = [int(available // here.bytes_per_block(start, end)) for start, end in ((0, 56), (56, 64))]
    assert blocks[1] * 16 == 327_680
    assert here.tokens(min(blocks), 16) == 46_800


def test_stages_of_a_hybrid_each_have_their_part_of_every_group() -> None:
    here = table(published("qwen3.5-122b").layers, Setting())
    assert [len(group.places) for group in here.groups] == [12, 12, 12, 12]
    whole = here.bytes_per_block()
    assert here.bytes_per_block(0, 24) + here.bytes_per_block(24, 48) == pytest.approx(whole, rel=0.2)


@pytest.mark.parametrize("blocks", [1, 2, 63, 64, 100, 8191, 8192])
def test_the_longest_request_fits_and_one_token_more_does_not(blocks: int) -> None:
    here = table(_layers(*[FULL, WINDOW, WINDOW] * 4), Setting(in_flight=2048))
    longest = here.longest(blocks, 131_072)
    assert longest == 0 or here.per_request(longest) <= blocks
    assert longest == 131_072 or here.per_request(longest + 1) > blocks


def test_a_window_stops_growing_with_the_request() -> None:
    here = table(_layers(*[WINDOW] * 4), Setting(in_flight=2048))
    assert here.per_request(16) == 2
    assert here.per_request(100_000) == here.per_request(1_000_000) == (1023 + 2048 + 15) // 16 + 1


def test_heads_are_repeated_where_there_are_more_cards_than_heads() -> None:
    four = Attention(4, 128, 128)
    assert [token_bytes(four, Setting(tp=tp)) for tp in (1, 2, 4, 8)] == [2048, 1024, 512, 512]


def test_a_latent_is_on_every_card_whole() -> None:
    assert {token_bytes(Latent(512, 64), Setting(tp=tp)) for tp in (1, 2, 8)} == {1152}
    assert token_bytes(Latent(512, 64), Setting(kv_bytes=1)) == 576


def test_drafting_makes_states_larger_and_requests_take_more_blocks() -> None:
    none, one = Setting(kv_bytes=1), Setting(kv_bytes=1, spec=1)
    assert state_bytes(DELTA, one) - state_bytes(DELTA, none) == 12_288 * 2
    layers = _layers(*[DELTA, DELTA, DELTA, Attention(2, 256, 256)] * 12)
    assert table(layers, none).per_request(262_144) == 63 + 3 * 2
    assert table(layers, one).per_request(262_144) == 63 + 3 * 3
    assert table(layers, Setting(kv_bytes=1, align=False)).per_request(262_144) == 63 + 3 * 1


def test_a_cache_of_fp8_is_not_twice_one_of_bf16_where_layers_keep_states() -> None:
    """1.84 times at 32k, 1.00 times for short requests."""
    layers = _layers(*[DELTA, DELTA, DELTA, Attention(2, 256, 256)] * 10)
    available = 20 * 2**30

    def at_once(kv_bytes: int, length: int) -> float:
        here = table(layers, Setting(kv_bytes=kv_bytes, align=False))
        return here.at_once(int(available // here.bytes_per_block()), length)

    assert 1.5 < at_once(1, 32_768) / at_once(2, 32_768) < 1.95
    assert at_once(1, 1024) / at_once(2, 1024) == pytest.approx(1.0, abs=0.01)


def test_layers_that_keep_unequal_amounts_get_blocks_of_unequal_length() -> None:
    here = table(_layers(*[Attention(4, 128, 128), Attention(8, 128, 128, window=512)] * 4), Setting())
    assert sorted(group.block for group in here.groups) == [16, 32]
    assert len({group.page for group in here.groups}) == 1


def test_layers_without_a_common_page_are_refused() -> None:
    with pytest.raises(FloorError, match="layers that keep 1152, 4096 bytes a token have no common page"):
        table(_layers(FULL, Latent(512, 64)), Setting())


def test_layers_that_keep_nothing_take_nothing() -> None:
    here = table(_layers(FULL, None, FULL, None), Setting())
    assert here.bytes_per_block() == 2 * 16 * 4096
    assert here.bytes_per_block(1, 2) == 0
