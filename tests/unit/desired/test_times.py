"""O16, O17, O20: the times of a copy leave room for one another, whatever the two numbers are that they follow from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from floor.desired.times import GPU_SECONDS, RESTART_BURST, RESTART_SECONDS, times

SECONDS = st.floats(0.5, 7 * 24 * 3600)


@given(SECONDS, SECONDS)
def test_systemd_waits_longer_than_docker_than_the_engine_than_the_proxy(request: float, start: float) -> None:
    found = times(request, start, drains=True)
    assert found.stop > found.docker_stop > found.drain > found.request >= request


@given(SECONDS, SECONDS)
def test_an_engine_that_cannot_drain_ends_soon_and_systemd_waits_for_its_requests(request: float, start: float) -> None:
    found = times(request, start, drains=False)
    assert (found.drain, found.docker_stop) == (0, 30)
    assert found.stop > max(request, found.docker_stop)


@given(SECONDS, SECONDS, st.booleans())
def test_a_start_has_time_for_the_card_and_the_load(request: float, start: float, drains: bool) -> None:
    assert times(request, start, drains=drains).start > start + GPU_SECONDS


@given(SECONDS, SECONDS, st.booleans())
def test_the_limit_of_starts_can_be_reached(request: float, start: float, drains: bool) -> None:
    found = times(request, start, drains=drains)
    assert found.limit > RESTART_BURST * (found.start + RESTART_SECONDS)


def test_a_cause_that_heals_within_a_minute_is_survived() -> None:
    assert RESTART_BURST * RESTART_SECONDS > 60
