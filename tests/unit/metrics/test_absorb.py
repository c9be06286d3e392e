"""Counters of a copy over restarts of its engine and over looks that failed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.metrics import absorb as module
from floor.metrics.absorb import Past, absorb, totals
from floor.metrics.exposition import Reader, UnreadableError
from floor.metrics.values import Histogram, Page


def page(*lines: str, started: float | None = None) -> Page:
    """A page with counters `a` and `b`, a gauge `g` and a histogram `h`."""
    types = "# TYPE a counter\n# TYPE b counter\n# TYPE g gauge\n# TYPE h histogram\n# TYPE s summary\n"
    begun = (
        [] if started is None else ["# TYPE process_start_time_seconds gauge", f"process_start_time_seconds {started}"]
    )
    return Reader().read((types + "\n".join([*begun, *lines]) + "\n").encode())


def shown(pages: list[Page]) -> dict[str, object]:
    past = Past()
    for one in pages:
        past = absorb(past, one)
    found = totals(past, pages[-1])
    return {name: next(iter(family.children.values())) for name, family in found.items() if family.children}


def test_a_reset_is_absorbed() -> None:
    assert shown([page("a 5"), page("a 7"), page("a 2")]) == {"a": 9.0}
    assert shown([page("a 5"), page("a 2"), page("a 1")]) == {"a": 8.0}


def test_a_gauge_is_what_it_is() -> None:
    assert shown([page("g 5", "a 1"), page("g 2", "a 1")]) == {"g": 2.0, "a": 1.0}


def test_one_fall_without_a_start_time_means_that_all_began_anew() -> None:
    """`b` had grown beyond its old value before anybody looked: it is a reset all the same."""
    assert shown([page("a 5", "b 1"), page("a 2", "b 3")]) == {"a": 7.0, "b": 4.0}


def test_a_start_time_tells_a_restart_that_no_counter_shows() -> None:
    assert shown([page("a 5", started=100), page("a 5", started=200)])["a"] == 10.0


def test_a_fall_within_one_process_is_that_series_alone() -> None:
    assert shown([page("a 5", "b 1", started=100), page("a 2", "b 3", started=100)]) == {
        "process_start_time_seconds": 100.0,
        "a": 7.0,
        "b": 3.0,
    }


def test_what_a_fresh_process_has_not_counted_yet_is_still_shown() -> None:
    """Labels of a counter appear with its first count; until then the page must not lose what was counted before."""
    assert shown([page("a 5", "b 4"), page("a 1")]) == {"a": 6.0, "b": 4.0}
    assert shown([page("a 5", "b 4"), page("a 1"), page("a 1", "b 1")]) == {"a": 6.0, "b": 5.0}


def test_a_series_that_is_missing_for_one_look_is_not_counted_twice() -> None:
    assert shown([page("a 5", "b 4"), page("a 5"), page("a 5", "b 6")]) == {"a": 5.0, "b": 6.0}


def buckets(*counts: float, bounds: tuple[str, ...] = ("1", "2", "+Inf")) -> list[str]:
    lines = [f'h_bucket{{le="{bound}"}} {count}' for bound, count in zip(bounds, counts, strict=True)]
    return [*lines, f"h_sum {counts[-1]}", f"h_count {counts[-1]}"]


def test_a_histogram_is_absorbed_as_a_whole() -> None:
    found = shown([page(*buckets(1, 2, 4)), page(*buckets(0, 3, 3))])["h"]
    assert found == Histogram((1.0, 2.0, math.inf), (1.0, 5.0, 7.0), 7.0)


def test_an_engine_that_came_back_with_other_buckets() -> None:
    """An upgrade changed them: only those that both have can be added, and they stay cumulative."""
    other = buckets(1, 3, bounds=("2", "+Inf"))
    found = shown([page(*buckets(1, 2, 4), started=1), page(*other, started=9)])["h"]
    assert found == Histogram((2.0, math.inf), (3.0, 7.0), 7.0)


def test_a_family_that_changed_its_type_begins_anew() -> None:
    found = totals(absorb(absorb(Past(), page("a 5")), Reader().read(b"# TYPE a gauge\na 2\n")), page("b 1"))
    assert found["a"].children == {(): 5.0}


def test_a_summary_adds_counts_and_drops_quantiles() -> None:
    found = totals(absorb(absorb(Past(), page("s_sum 3", "s_count 4", "a 2")), page("s_sum 1", "s_count 1", "a 1")), {})
    assert str(found["s"].children[()]) == "Summary(count=5.0, sum=4.0, quantiles=())"


def test_series_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    past = Past()
    for number in range(10):
        past = absorb(past, page(f'a{{x="{number}"}} 1'))
    with pytest.raises(UnreadableError, match="more than 10 series"):
        absorb(past, page('a{x="more"} 1'))


# One engine's life: steps of counting, of a restart, or of a look; after each restart everything counts from 0.
STEP = st.one_of(
    st.tuples(st.just("count"), st.sampled_from("ab"), st.integers(1, 9)),
    st.tuples(st.just("observe"), st.floats(0, 4), st.just(0)),
    st.tuples(st.just("look"), st.just(""), st.just(0)),
    st.tuples(st.just("restart"), st.just(""), st.just(0)),
)


@given(st.lists(STEP, max_size=40))
def test_totals_are_exact_and_never_go_backwards(steps: list[tuple[str, str | float, int]]) -> None:
    """Shown is all that was counted, less what a process counted between the last look at it and its end."""
    past, started = Past(), 1
    counts, observed = {"a": 0, "b": 0}, [0.0, 0.0, 0.0]
    seen_before, present = {"a": 0, "b": 0, "h": 0.0}, {"a": 0, "b": 0, "h": 0.0}
    shown_before: dict[str, float] = {}
    for what, name, amount in steps:
        if what == "count":
            counts[str(name)] += amount
        elif what == "observe":
            observed = [one + (float(name) <= bound) for one, bound in zip(observed, (1, 2, math.inf), strict=True)]
        elif what == "restart":
            seen_before = {key: seen_before[key] + present[key] for key in present}  # type: ignore[assignment]
            counts, observed, present = {"a": 0, "b": 0}, [0.0] * 3, {"a": 0, "b": 0, "h": 0.0}
            started += 10
        else:
            lines = [f"{key} {value}" for key, value in counts.items()]
            one = page(*lines, *buckets(*observed), started=started)
            past = absorb(past, one)
            present = {**counts, "h": observed[-1]}
            found = totals(past, one)
            told = {key: found[key].children[()] for key in "ab"} | {"h": found["h"].children[()].count}  # type: ignore[union-attr]
            assert told == {key: seen_before[key] + present[key] for key in present}
            assert all(told[key] >= shown_before.get(key, 0) for key in told)  # type: ignore[operator]
            shown_before = told  # type: ignore[assignment]
