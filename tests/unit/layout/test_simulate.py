"""The simulation: what can be worked out by hand comes out so, and the factory floor's own curves rank as measured."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from floor.errors import UsageError
from floor.layout import traffic
from floor.layout.fit import constants
from floor.layout.fleet import Measured
from floor.layout.layouts import find
from floor.layout.ledger import Books
from floor.layout.serving import servers
from floor.layout.simulate import Outcome, Server, run
from floor.layout.traffic import Request, Traffic
from tests.unit.layout.fleets import sparks, want


def _server(speed: float = 10.0, reads: float = 0.0, cap: int = 4, holds: float = 1e9, name: str = "a") -> Server:
    return Server(name, lambda _many: speed, reads, cap, holds)


def _chance(seed: int = 1) -> Callable[[], float]:
    return random.Random(seed).random  # noqa: S311 - traffic, not secrets


def test_one_request_takes_its_reading_and_its_tokens() -> None:
    found = run([_server(speed=10, reads=0.01)], Traffic((Request(5, 100, 50),)))
    assert found.waited == (0, 0, 0)
    assert found.first == pytest.approx((1, 1, 1))
    assert found.whole == pytest.approx((6, 6, 6))
    assert found.throughput == pytest.approx(50 / 6)


def test_two_requests_share_the_speed() -> None:
    found = run([_server(speed=10)], Traffic((Request(0, 1, 50), Request(0, 1, 100))))
    assert found.whole[0] == pytest.approx(10)
    assert found.whole[1] == pytest.approx(15)
    assert found.throughput == pytest.approx(10)


def test_beyond_the_cap_requests_wait() -> None:
    found = run([_server(cap=1)], Traffic((Request(0, 1, 10), Request(0, 1, 10), Request(0, 1, 10))))
    assert found.waited == pytest.approx((1, 2, 2))


def test_a_full_cache_lets_requests_wait_and_what_no_cache_holds_is_refused() -> None:
    found = run([_server(holds=100)], Traffic((Request(0, 50, 10), Request(0, 50, 10), Request(0, 200, 10))))
    assert (found.done, found.refused) == (2, 1)
    assert found.waited[1] == pytest.approx(1)


def test_a_request_longer_than_the_model_takes_is_refused_whatever_the_cache_holds() -> None:
    books = Books(want(), constants())
    short = servers(books, find(books, sparks()).layouts[0])
    assert {server.longest for server in short} == {262_144}
    found = run(short, Traffic((Request(0, 262_000, 144), Request(0, 262_000, 145))))
    assert (found.done, found.refused) == (1, 1)


def test_requests_go_to_whom_has_the_fewest_and_only_to_who_can_hold_them() -> None:
    two = [_server(holds=100, name="small"), _server(holds=1000, name="large")]
    found = run(two, Traffic((Request(0, 10, 10), Request(0, 10, 10))))
    assert found.whole == pytest.approx((1, 1, 1))
    found = run(two, Traffic((Request(0, 500, 10), Request(0, 400, 10))))
    assert found.whole == pytest.approx((2, 2, 2))


def test_reading_goes_before_generating() -> None:
    found = run([_server(speed=10, reads=0.1)], Traffic((Request(0, 10, 10), Request(1, 20, 10))))
    assert found.first == pytest.approx((1, 2, 2))
    # 1 s of reading, 2 s stopped for the other, then both share; the other waited for none
    assert found.whole == pytest.approx((4, 5, 5))


def test_people_who_ask_one_after_another_keep_every_place_busy() -> None:
    found = run([_server(cap=2), _server(cap=2)], traffic.crowd(4, 10, 100, 200, _chance()))
    assert found.done == 200
    assert found.throughput == pytest.approx(20, rel=0.05)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_and_no_more_is_made_than_can_be(seed: int) -> None:
    fleet = [_server(speed=30, reads=0.001, cap=3, holds=5000), _server(speed=15, cap=2, holds=2000)]
    asked = traffic.stated(0.2, 400, 100, 600, _chance(seed))
    found = run(fleet, asked)
    assert found.done + found.refused == len(asked.requests)
    assert found.throughput <= 45 + 1e-6
    assert list(found.waited) == sorted(found.waited)
    assert found.waited[0] <= found.first[0] <= found.whole[0]


def _story() -> dict[str, Outcome]:
    """The owners' curve for long prompts, scaled to what they measured: 111 and 99 as copies, 180 as group.

    The group's own curve is not known; its shape is taken to be that of a copy.
    """
    curve = {1: 36, 4: 81, 8: 113}
    most = {"flagship@spark-a": 111, "flagship@spark-b": 99, "flagship@spark-a+spark-b": 180}
    measured = {
        name: Measured(curve={many: speed * top / 113 for many, speed in curve.items()}) for name, top in most.items()
    }
    books = Books(want(measured=measured), constants())
    asked = traffic.crowd(24, 6000, 600, 600, _chance())
    layouts = find(books, sparks()).layouts
    return {layout.title: run(servers(books, layout), asked) for layout in layouts if "pipeline" not in layout.title}


def test_the_owners_curves_rank_210_over_180() -> None:
    found = _story()
    assert found["copies on spark-a, spark-b"].throughput == pytest.approx(210, rel=0.04)
    assert found["split by tensor over spark-a + spark-b"].throughput == pytest.approx(180, rel=0.04)


def test_without_curves_the_speed_model_is_used() -> None:
    books = Books(want(), constants())
    layout = find(books, sparks()).layouts[0]
    found = run(servers(books, layout), traffic.stated(0.02, 4000, 300, 2000, _chance()))
    assert found.done > 20
    assert found.first[0] > 1
    assert found.refused == 0


def test_lines_of_traffic_are_read_and_bad_ones_named() -> None:
    found = traffic.lines(['{"at": 2, "prompt": 5, "answer": 7}', "", '{"at": 1, "prompt": 3, "answer": 1}'], "t.jsonl")
    assert found.requests == (Request(1, 3, 1), Request(2, 5, 7))
    for bad, says in (
        ("{", 't.jsonl:1: found \'{\'; write {"at": seconds, "prompt": tokens, "answer": tokens}'),
        ('{"at": 1}', "t.jsonl:1: found"),
        ('{"at": 1, "prompt": 1e999, "answer": 1}', "t.jsonl:1: found"),
        ('{"at": -1, "prompt": 3, "answer": 1}', "t.jsonl:1: found a time below 0 or less than 1 token"),
        ('{"at": 1, "prompt": 3, "answer": 0}', "found a time below 0 or less than 1 token"),
        ("", "t.jsonl: found no request in it"),
    ):
        with pytest.raises(UsageError) as caught:
            traffic.lines([bad], "t.jsonl")
        assert says in str(caught.value)
