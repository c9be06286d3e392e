"""Speeds between and beyond what was measured."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from floor.layout.calibrated import Point, Speeds, middle, parse
from floor.layout.cards import named
from floor.layout.fit import constants
from floor.layout.fleet import Measured, Place, Want
from floor.layout.layouts import find
from floor.layout.ledger import Books
from floor.layout.serving import servers
from floor.layout.simulate import run
from floor.layout.taught import taught
from floor.layout.traffic import Request, Traffic
from floor.operations import layout_words
from tests.unit.layout.fleets import want


def _point(many: int, prompt: int, *, base: float = 0.02, each: float = 0.002, slope: float = 1e-6) -> Point:
    """As measured on a box whose step takes base + each · requests + slope · requests · depth."""
    step = base + each * many + slope * many * (prompt + 32)
    return Point(many, prompt, 64, many * (prompt / 2000 + prompt**2 / 4e8), many / step)


MEASURED = Speeds((_point(1, 512), _point(1, 4096), _point(1, 16384), _point(4, 512), _point(12, 512)))


@pytest.mark.parametrize("many", [1, 2, 4, 8, 12, 16])
@pytest.mark.parametrize("depth", [100, 2000, 30000])
def test_a_box_that_is_as_assumed_comes_out_again(many: int, depth: float) -> None:
    step = 0.02 + 0.002 * many + 1e-6 * many * depth
    assert MEASURED.step(many, depth) == pytest.approx(step)
    assert MEASURED.together(many, depth) == pytest.approx(many / step)


def test_prompts_between_and_beyond_those_that_were_measured() -> None:
    assert MEASURED.reading(512) == pytest.approx(_point(1, 512).first)
    assert MEASURED.reading(8192) == pytest.approx(8192 / 2000 + 8192**2 / 4e8, rel=0.1)
    assert MEASURED.reading(32768) == pytest.approx(32768 / 2000 + 32768**2 / 4e8, rel=0.15)
    assert MEASURED.reading(10) == MEASURED.reading(512)
    assert Speeds((_point(1, 512),)).reading(1024) == pytest.approx(2 * _point(1, 512).first)


def test_one_measurement_alone_is_taken_for_all_depths() -> None:
    alone = Speeds((_point(1, 512),))
    assert alone.slope == 0
    assert alone.step(1, 9) == alone.step(8, 9999) == pytest.approx(_point(1, 512).step)


def test_a_noisy_machine_gives_no_step_below_what_was_measured_and_none_that_falls() -> None:
    """Deeper was quicker, and more at once as well: no slope is made of it, and no speed out of nothing."""
    noisy = Speeds((Point(1, 64, 64, 0.1, 50), Point(1, 512, 64, 0.1, 60), Point(4, 64, 64, 0.2, 300)))
    assert noisy.slope == 0
    assert noisy.step(64, 100) == pytest.approx(4 / 300)
    steep = Speeds((Point(1, 64, 64, 0.1, 100), Point(1, 512, 64, 0.1, 20), Point(8, 64, 64, 0.2, 800)))
    assert steep.step(8, 0) > 0
    assert steep.step(4, 500) > 0


def test_what_a_box_has_kept_is_read_and_what_is_damaged_tells_nothing() -> None:
    entries: list[dict[str, Any]] = [asdict(point) for point in MEASURED.points]
    assert parse(entries) == MEASURED
    assert parse([]) is None
    assert parse([{**entries[0], "speed": 0}]) is None
    assert parse([{**entries[0], "at_once": 2}]) is None
    assert parse([{"at_once": 1}]) is None
    assert parse([{**entries[0], "first": "soon"}]) is None


def test_the_middle_of_three_tries() -> None:
    slow, usual, quick = (replace(_point(1, 512), speed=speed) for speed in (10.0, 20.0, 30.0))
    assert middle([quick, slow, usual]) is usual
    assert middle([slow]) is slow


def _place() -> Place:
    return Place("spark-a", (named("gb10"),))


def _measured(**asked: Any) -> Want:
    return want(measured={"flagship@spark-a": Measured(speeds=MEASURED)}, **asked)


def test_what_was_measured_goes_before_the_speed_model() -> None:
    asked = _measured(depth=2000, cap=8, prompt=4096)
    (backend,) = find(Books(asked, constants()), [_place()]).layouts[0].backends
    assert backend.one == pytest.approx(MEASURED.together(1, 2000))
    assert backend.all == pytest.approx(MEASURED.together(8, 2000))
    assert backend.reads == pytest.approx(MEASURED.reading(4096))
    assert backend.timed
    assert backend.read_timed
    (computed,) = find(Books(want(depth=2000, cap=8), constants()), [_place()]).layouts[0].backends
    assert not computed.timed
    assert computed.one != backend.one


def test_a_simulation_runs_at_what_was_measured() -> None:
    asked = _measured(depth=2000, cap=8, prompt=4096)
    books = Books(asked, constants())
    layout = find(books, [_place()]).layouts[0]
    outcome = run(servers(books, layout), Traffic((Request(0, 4096, 100),)))
    assert outcome.whole[0] == pytest.approx(MEASURED.reading(4096) + 100 * MEASURED.step(1, 2000))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("context=8192", True),
        ("cap=4", True),
        ("kv_cache=fp8", True),  # as it is
        ("kv_cache=auto", False),
        ("quant=q4_0", False),
        ("drafts=2", False),
        ("spark-a=rtx-5090", False),
        ("spark-a.others=2GiB", True),
    ],
)
def test_an_edit_that_makes_it_another_build_or_another_card_is_not_what_was_measured(text: str, kept: bool) -> None:
    changed, _ = layout_words.edit(text, _measured(kv_cache="fp8"), [_place()])
    found = changed.measured.get("flagship@spark-a")
    assert bool(found and found.speeds) is kept


def test_what_a_box_was_measured_at_teaches_its_card() -> None:
    """A box at 0.8 of the bandwidth and 0.6 of the compute that the table has: found again from its speeds."""
    real = replace(named("gb10"), bandwidth=0.8 * named("gb10").bandwidth, compute=0.6 * named("gb10").compute)
    asked = want(kv_cache="fp8", prompt=4096)
    points = []
    for depth in (512, 4096, 16384):
        slow = find(Books(replace(asked, depth=depth + 32, prompt=depth), constants()), [Place("spark-a", (real,))])
        backend = slow.layouts[0].backends[0]
        points.append(Point(1, depth, 64, backend.reads, backend.one))
    known = replace(asked, measured={"flagship@spark-a": Measured(speeds=Speeds(tuple(points)))})
    (card,) = taught(_place(), [known], constants()).cards
    assert card.bandwidth == pytest.approx(real.bandwidth, rel=0.02)
    assert card.compute == pytest.approx(real.compute, rel=0.02)
    assert taught(replace(_place(), name="spark-b"), [known], constants()).cards == (named("gb10"),)


def test_a_group_over_a_box_that_was_measured_is_computed_with_that() -> None:
    slow = Speeds(tuple(replace(point, speed=point.speed / 2, first=point.first * 2) for point in MEASURED.points))
    known = want(measured={"flagship@spark-a": Measured(speeds=slow)})
    places = [_place(), replace(_place(), name="spark-b")]
    learnt = [taught(place, [known], constants()) for place in places]
    before, after = (
        next(one for one in find(Books(known, constants()), some).layouts if one.mode == "split").backends[0]
        for some in (places, learnt)
    )
    assert after.one < before.one
    assert not after.timed
