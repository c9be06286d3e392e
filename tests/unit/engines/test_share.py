"""What a share of memory is of."""

from __future__ import annotations

from typing import Any

import pytest

from floor.engines import share

BOX = {"total": 128, "available": 100}


@pytest.mark.parametrize(
    ("gpus", "memory", "whole"),
    [
        ([{"total": 24}, {"total": 16}], BOX, 16),
        ([{"total": None}], BOX, 128),
        ([{"total": 24}, {}], BOX, 128),
        ([], BOX, 128),
        ([{"total": None}], {}, None),
        ([], {"total": 0}, None),
    ],
)
def test_it_is_of_the_smallest_card_or_of_the_box(gpus: list[Any], memory: dict[str, int], whole: int | None) -> None:
    assert share.whole(gpus, memory) == whole


def test_a_share_is_rounded_down() -> None:
    assert (share.rounded(0.859), share.rounded(0.29)) == (0.85, 0.29)
