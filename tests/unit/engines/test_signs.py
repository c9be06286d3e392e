"""What a start's log announces before a box freezes."""

from __future__ import annotations

import pytest

from floor.engines.log import Start, parse
from floor.engines.signs import sign


@pytest.mark.parametrize(
    ("lines", "share", "says"),
    [
        # vllm#44740: at 0.80 of 121.7 GiB the cache was given 90.6, beside weights of 20.
        (["Estimated CUDA graph memory: -3.25 GiB total"], 0.8, "its log estimates -3.25 GiB for CUDA graphs"),
        (["Model loading took 20 GiB", "Available KV cache memory: 90.6 GiB"], 0.8, "more than the 97.4 GiB"),
        (["Model loading took 71.1 GiB", "Available KV cache memory: 20.0 GiB"], 0.78, ""),
        (
            ["Model loading took 71.1 GiB", "Available KV cache memory: 24.5 GiB"],
            0.78,
            "",
        ),  # what is announced is rounded
        (["Model loading took 71.1 GiB"], 0.78, ""),
        (["Model loading took 20 GiB", "Available KV cache memory: 90.6 GiB"], None, ""),
        (["Estimated CUDA graph memory: 1.25 GiB total"], 0.8, ""),
        ([], 0.8, ""),
    ],
)
def test_signs(lines: list[str], share: float | None, says: str) -> None:
    found = sign(parse(lines), 121.7, share)
    assert says in found
    assert bool(found) == bool(says)


def test_one_card_below_zero_is_not_hidden_by_the_others() -> None:
    lines = ["Estimated CUDA graph memory: 1.2 GiB total", "Estimated CUDA graph memory: -0.4 GiB total"]
    assert parse(lines) == Start(graphs_estimated=-0.4)
