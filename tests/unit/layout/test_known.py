"""What a start has logged goes before constants: the cache that it printed comes out again."""

from __future__ import annotations

import pytest

from floor.engines.log import Start, parse
from floor.layout.cards import GIB, named
from floor.layout.fit import constants
from floor.layout.fleet import Measured, Place
from floor.layout.known import beside
from floor.layout.layouts import find
from floor.layout.ledger import Books, Ledger
from tests.unit.layout.fleets import want

LOG = """\
INFO 01-01 10:00:00 [gpu_model_runner.py] Model loading took 70.9000 GiB and 200.000000 seconds
INFO 01-01 10:01:00 [gpu_worker.py] Estimated CUDA graph memory: 0.82 GiB total
INFO 01-01 10:01:00 [gpu_worker.py] Available KV cache memory: 13.37 GiB
"""
TOTAL = 121.7 * GIB


def test_the_cache_that_was_printed_comes_out_again() -> None:
    """At the share that it was started with, with more beside than the constants say."""
    model = want(kv_cache="fp8")
    ledger = Ledger(model, 1)
    parts = beside(parse(LOG.splitlines()), 0.74, TOTAL, ledger.weights(0, ledger.layers))
    known = want(kv_cache="fp8", measured={"flagship@spark-b": Measured(overhead=parts)})
    place = Place("spark-b", (named("gb10"),), utilization=0.74)
    (backend,) = find(Books(known, constants()), [place]).layouts[0].backends
    assert backend.blocks == int(13.37 * GIB // ledger.per_block(0, ledger.layers))
    assert backend.uses[0].overhead.origin == "measured"
    assert backend.uses[0].overhead.graphs == pytest.approx(0.82 * GIB)
    (assumed,) = find(Books(model, constants()), [place]).layouts[0].backends
    assert assumed.blocks > backend.blocks
    assert assumed.uses[0].overhead.origin == "assumed"


@pytest.mark.parametrize("start", [Start(), Start(available=-1.0), Start(available=60.0)])
def test_a_log_that_tells_nothing_or_cannot_be_leaves_the_constants(start: Start) -> None:
    assert beside(start, 0.74, TOTAL, 71 * GIB) == {}


def test_releases_that_estimate_no_graphs_capture_them_beside_their_share() -> None:
    parts = beside(Start(available=13.0, graphs=1.2), 0.74, TOTAL, 71 * GIB)
    assert parts["graphs"] == 0
    assert sum(parts.values()) == pytest.approx(0.74 * TOTAL - 84 * GIB)


def test_what_another_release_kept_of_a_start_is_read_as_far_as_this_one_knows_it() -> None:
    assert Start.of({"available": 4.0, "weather": "fine"}) == Start(available=4.0)
