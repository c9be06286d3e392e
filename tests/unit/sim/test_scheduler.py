"""Continuous batching on a fake clock: numbers of seconds, nobody sleeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.sim.curve import PRESETS
from floor.sim.scheduler import Event, Limits, Scheduler

INSTANT = 1e12  # a prefill rate that takes no time


def make(
    max_running: int = 16,
    cache: int = 10**6,
    prefill: float = INSTANT,
    curve: Callable[[int], float] = PRESETS["short"],
    block: int = 16,
) -> Scheduler:
    return Scheduler(Limits(max_running, cache, prefill, curve, block))


def tokens(events: list[Event]) -> int:
    return sum(event.kind == "token" for event in events)


@pytest.mark.parametrize(
    ("preset", "at_once", "rate"),
    [
        *(("short", n, r) for n, r in ((1, 36), (4, 82), (8, 109), (16, 150))),
        *(("long", n, r) for n, r in ((4, 81), (8, 113), (16, 87))),
    ],
)
def test_the_storys_throughput_comes_out(preset: str, at_once: int, rate: float) -> None:
    """So many requests at once, over 100 s of simulated time, yield the measured tok/s."""
    scheduler = make(curve=PRESETS[preset])
    for _ in range(at_once):
        scheduler.submit(0.0, 100, 10**6)
    scheduler.advance(1.0)
    got = tokens(scheduler.advance(101.0))
    assert got / 100 == pytest.approx(rate, rel=0.01)


def test_each_request_gets_its_equal_share() -> None:
    scheduler = make()
    for _ in range(4):
        scheduler.submit(0.0, 100, 10**6)
    shares = Counter(id(event.sequence) for event in scheduler.advance(50.0) if event.kind == "token")
    assert set(shares.values()) == {shares.most_common()[0][1]}


def test_the_speed_factor_scales_everything() -> None:
    scheduler = make(prefill=4000 * 20, curve=PRESETS["short"].times(20))
    scheduler.submit(0.0, 4000, 36)
    assert tokens(scheduler.advance(0.049)) == 0
    events = scheduler.advance(1.0)
    assert events[-1].kind == "finished"
    assert events[-1].at == pytest.approx(0.05 + 35 / (36 * 20))


def test_the_first_token_comes_when_the_prompt_is_read() -> None:
    scheduler = make(prefill=1000)
    scheduler.submit(5.0, 2000, 2)
    assert scheduler.next_at() == pytest.approx(7.0)
    assert scheduler.advance(6.99) == []
    assert tokens(scheduler.advance(7.0)) == 1


def test_a_silence_comes_on_top_of_the_prompt() -> None:
    scheduler = make(prefill=1000)
    scheduler.submit(0.0, 1000, 2, silence=20.0)
    assert scheduler.next_at() == pytest.approx(21.0)


def test_beyond_the_cap_requests_wait_and_start_in_order() -> None:
    scheduler = make(max_running=2)
    first, second, third, fourth = (scheduler.submit(0.0, 10, want) for want in (5, 50, 5, 5))
    assert (scheduler.running, list(scheduler.waiting)) == ([first, second], [third, fourth])
    scheduler.advance(10.0)
    assert first.generated == 5
    assert None not in (third.admitted, fourth.admitted)
    assert first.last_token == third.admitted
    assert third.last_token == fourth.admitted


def test_a_freed_slot_goes_to_the_next_at_once() -> None:
    scheduler = make(max_running=1)
    running = scheduler.submit(0.0, 10, 10**6)
    waiting = scheduler.submit(0.0, 10, 5)
    assert scheduler.abort(1.0, running)
    assert scheduler.running == [waiting]
    assert waiting.admitted == 1.0


def test_one_in_the_queue_can_leave_it() -> None:
    scheduler = make(max_running=1)
    scheduler.submit(0.0, 10, 100)
    waiting = scheduler.submit(0.0, 10, 5)
    assert scheduler.abort(0.1, waiting)
    assert not scheduler.waiting
    assert not scheduler.abort(0.1, waiting)


def test_a_request_that_does_not_fit_the_cache_waits_though_there_is_a_slot() -> None:
    scheduler = make(cache=1600)
    big = scheduler.submit(0.0, 1000, 100)
    other = scheduler.submit(0.0, 1000, 100)
    assert scheduler.running == [big]
    assert list(scheduler.waiting) == [other]
    assert scheduler.cache_usage == pytest.approx(1008 / 1600)


def test_usage_counts_prompt_and_generated_tokens_in_whole_blocks() -> None:
    scheduler = make(cache=160)
    scheduler.submit(0.0, 16, 100)
    scheduler.advance(0.0001)
    assert scheduler.used_blocks == 2
    assert scheduler.cache_usage == pytest.approx(0.2)


def test_when_the_cache_overflows_the_youngest_starts_over() -> None:
    scheduler = make(cache=320)
    old = scheduler.submit(0.0, 100, 150)
    young = scheduler.submit(0.0, 100, 150)
    events = scheduler.advance(1000.0)
    assert next(event.sequence for event in events if event.kind == "preempted") is young
    assert [event.sequence for event in events if event.kind == "finished"] == [old, young]
    assert (old.preemptions, young.generated) == (0, 150)


def test_a_frozen_scheduler_admits_and_yields_nothing() -> None:
    scheduler = make()
    scheduler.frozen = True
    scheduler.submit(0.0, 10, 5)
    assert scheduler.advance(1000.0) == []
    assert len(scheduler.running) == 1
    assert scheduler.next_at() is None


def test_a_thawed_scheduler_goes_on_without_catching_up() -> None:
    scheduler = make()
    sequence = scheduler.submit(0.0, 10, 10**6)
    scheduler.advance(1.0)
    before = sequence.generated
    scheduler.frozen = True
    scheduler.thaw(101.0)
    scheduler.advance(102.0)
    assert sequence.generated - before == pytest.approx(36, abs=2)


def test_time_the_device_was_elsewhere_is_not_made_up() -> None:
    scheduler = make()
    sequence = scheduler.submit(0.0, 10, 10**6)
    scheduler.advance(1.0)
    before = sequence.generated
    scheduler.shift(20.0)
    scheduler.advance(21.0)
    assert sequence.generated - before <= 1


def test_a_change_of_pace_takes_effect_within_the_step() -> None:
    scheduler = make(curve=lambda running: running * 0.5)
    sequence = scheduler.submit(0.0, 10, 10**6)
    scheduler.advance(0.1)
    assert scheduler.next_at() == pytest.approx(2.0)
    scheduler.change_pace(0.2, PRESETS["short"])
    scheduler.advance(1.2)
    assert sequence.generated == pytest.approx(37, abs=1)


def test_iterations_count_their_tokens() -> None:
    scheduler = make()
    for _ in range(3):
        scheduler.submit(0.0, 100, 4)
    found = [event.tokens for event in scheduler.advance(10.0) if event.kind == "iteration"]
    assert found == [101, 101, 101, 3, 3, 3]


def test_the_time_since_the_last_token_is_told() -> None:
    scheduler = make()
    scheduler.submit(0.0, 100, 3)
    gaps = [event.since_last for event in scheduler.advance(10.0) if event.kind == "token"]
    assert gaps == [None, pytest.approx(1 / 36), pytest.approx(1 / 36)]


arrivals = st.lists(
    st.tuples(st.floats(0, 20), st.integers(1, 400), st.integers(1, 80), st.booleans()), min_size=1, max_size=30
)


@given(arrivals, st.integers(1, 8), st.integers(30, 200))
def test_whatever_comes_limits_hold_and_all_end(
    requests: list[tuple[float, int, int, bool]], cap: int, blocks: int
) -> None:
    """No more run than the cap, the cache never overflows, and whoever stays gets exactly what it wanted."""
    scheduler = make(max_running=cap, cache=blocks * 16, prefill=500)
    stay, events = [], []
    for at, prompt, want, leaves in sorted(requests):
        events += scheduler.advance(at)
        sequence = scheduler.submit(at, prompt, want)
        if leaves:
            scheduler.abort(at, sequence)
        else:
            stay.append(sequence)
        assert len(scheduler.running) <= cap
        assert scheduler.used_blocks <= blocks
    while (due := scheduler.next_at()) is not None:
        events += scheduler.advance(due)
        assert scheduler.used_blocks <= blocks
    assert all(sequence.generated == sequence.want for sequence in stay)
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert not scheduler.running
    assert not scheduler.waiting
