"""The chosen cut is the best of all contiguous cuts, held against every one of them."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import pytest

from floor.layout.cache import Setting, table
from floor.layout.shape import Attention, Layer
from floor.layout.stretches import Cost, cut


def _all(layers: int, costs: list[Cost]) -> float:
    """The cost of the best of all cuts."""
    best = math.inf
    for marks in itertools.combinations_with_replacement(range(layers + 1), len(costs) - 1):
        edges = (0, *marks, layers)
        best = min(best, _worst(costs, edges))
    return best


def _worst(costs: list[Cost], edges: Sequence[int]) -> float:
    """A card without layers costs nothing."""
    found = [(cost, edges[n], edges[n + 1]) for n, cost in enumerate(costs)]
    return max(cost(start, end) if end > start else 0.0 for cost, start, end in found)


def _case(seed: int) -> tuple[int, list[Cost]]:
    """Layers of unequal size on cards of unequal speed and room."""
    rng = random.Random(seed)  # noqa: S311 - cases, not secrets
    layers = rng.randint(2, 11)
    sizes = [rng.choice((1.0, 1.0, rng.uniform(0.2, 3))) for _ in range(layers)]

    def on(power: float, room: float) -> Cost:
        def cost(start: int, end: int) -> float:
            taken = sum(sizes[start:end])
            return taken / power if taken <= room else math.inf

        return cost

    many = rng.randint(1, min(4, layers))
    return layers, [on(rng.uniform(0.3, 4), rng.uniform(1, layers)) for _ in range(many)]


@pytest.mark.parametrize("seed", range(150))
def test_no_cut_is_better_and_none_that_fits_is_missed(seed: int) -> None:
    layers, costs = _case(seed)
    best = _all(layers, costs)
    found = cut(layers, costs)
    if found is None:
        assert math.isinf(best)
        return
    sizes, worst = found
    assert sum(sizes) == layers
    edges = list(itertools.accumulate(sizes, initial=0))
    assert worst == _worst(costs, edges)
    assert worst == pytest.approx(best)


@pytest.mark.parametrize("seed", range(60))
def test_where_every_card_must_have_a_layer_no_such_cut_is_better(seed: int) -> None:
    layers, costs = _case(seed)
    best = math.inf
    for marks in itertools.combinations(range(1, layers), len(costs) - 1):
        best = min(best, _worst(costs, (0, *marks, layers)))
    found = cut(layers, costs, every=True)
    if found is None:
        assert math.isinf(best)
    else:
        assert min(found[0]) >= 1
        assert found[1] == best


def test_layers_follow_the_speed_of_the_cards_until_memory_caps_them() -> None:
    def on(power: float, most: int) -> Cost:
        return lambda start, end: (end - start) / power if end - start <= most else math.inf

    assert cut(60, [on(1, 60), on(2, 60), on(3, 60)]) == ((10, 20, 30), 10.0)
    capped = cut(60, [on(1, 60), on(2, 60), on(3, 15)])
    assert capped is not None
    assert capped[0] == (15, 30, 15)


def test_stretches_that_balance_the_cache_undo_a_56_8_cut() -> None:
    """Equal bytes for the cache on both cards: 32/32 holds most, 56/8 leaves 46,800 of 327,680 tokens."""
    here = table([Layer(Attention(8, 128, 128), 0)] * 64, Setting())
    room = 327_680 // 16 * here.bytes_per_block(56, 64)
    cost: Cost = lambda start, end: here.bytes_per_block(start, end) / room  # noqa: E731
    found = cut(64, [cost, cost])
    assert found is not None
    assert found[0] == (32, 32)
    assert int(1 / found[1]) * 16 == 81_920


def test_a_card_that_would_only_slow_the_others_gets_no_layer() -> None:
    def on(power: float) -> Cost:
        return lambda start, end: (end - start) / power

    assert cut(2, [on(1), on(0.1), on(1)]) == ((1, 0, 1), 1.0)


def test_without_cards_there_is_no_cut() -> None:
    assert cut(4, []) is None
