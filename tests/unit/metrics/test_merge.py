"""Several copies on one page."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.metrics.absorb import Past, absorb, totals
from floor.metrics.exposition import Reader
from floor.metrics.merge import Part, merge, remainder
from floor.metrics.normalise import figures, ollama, present
from floor.metrics.page import write
from tests.metrics_page import check

CASES = Path(__file__).parents[2] / "cases"


def part(copy: str, text: str | bytes, dialect: str = "vllm", model: str = "m") -> Part:
    page = present(Reader().read(text if isinstance(text, bytes) else text.encode()))
    page = totals(absorb(Past(), page), page)
    return Part(f"{model}@{copy}", copy, model, page, figures(dialect, page))


def merged(*parts: Part) -> dict[str, float]:
    """The page's values by `name` or `name{copy}`; copies by their box."""
    found = {}
    for (name, labels), value in check(write(merge(parts))).items():
        told = dict(labels)
        rest = ",".join(
            sorted(
                f"{key}={text}" for key, text in labels if key not in ("copy", "box", "model", "model_name", "engine")
            )
        )
        found[name + (f"@{told['box']}" if "box" in told else "") + (f"[{rest}]" if rest else "")] = value
    return found


def captured(name: str) -> bytes:
    return (CASES / name).read_bytes()


def gauge(name: str, value: float, *, cache: int | None = None) -> str:
    info = f'# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{kv_cache_size_tokens="{cache}"}} 1\n'
    return f"# TYPE {name} gauge\n{name} {value}\n" + (info if cache is not None else "")


USAGE = "vllm:kv_cache_usage_perc"


def test_two_real_vllm_and_a_real_llamacpp() -> None:
    found = merged(
        part("a", captured("vllm/metrics_busy.txt")),
        part("b", captured("vllm/metrics_idle.txt")),
        part("c", captured("llamacpp/metrics_busy.txt"), "llamacpp"),
    )
    assert found["floor_model_generated_tokens_total"] == 2971 + 24
    assert found["floor_copy_generated_tokens_total@a"] == found["vllm:generation_tokens_total@a"] == 2971
    assert found["floor_copy_generated_tokens_total@c"] == found["llamacpp:tokens_predicted_total@c"] == 24
    assert found["floor_sum:vllm:generation_tokens_total"] == 2971
    assert found["floor_model_requests_running"] == 6
    assert found["floor_model_kv_cache_tokens"] == 524288
    assert found["floor_model_time_to_first_token_seconds_count"] == 6
    # Several of one engine's parts, and labels of its own, in the sum: without the part, with the label.
    assert found["floor_sum:vllm:request_success_total[finished_reason=length]"] == 2
    # What floor knows no way to add is there for each copy alone.
    assert found["process_start_time_seconds@a"] > 0
    assert "floor_sum:process_start_time_seconds" not in found


def test_two_copies_at_40_percent_are_at_40_percent() -> None:
    found = merged(part("a", gauge(USAGE, 0.4)), part("b", gauge(USAGE, 0.4)))
    assert found["floor_model_kv_cache_usage_ratio"] == found[f"floor_sum:{USAGE}"] == pytest.approx(0.4)


def test_a_large_cache_counts_more_than_a_small_one() -> None:
    found = merged(part("a", gauge(USAGE, 0.2, cache=3000)), part("b", gauge(USAGE, 0.6, cache=1000)))
    assert found["floor_model_kv_cache_usage_ratio"] == found[f"floor_sum:{USAGE}"] == pytest.approx(0.3)


@pytest.mark.parametrize("cache", [None, 0])
def test_a_cache_of_unknown_size_counts_like_any(cache: int | None) -> None:
    found = merged(part("a", gauge(USAGE, 0.2, cache=cache)), part("b", gauge(USAGE, 0.6, cache=cache)))
    assert found["floor_model_kv_cache_usage_ratio"] == pytest.approx(0.4)


def test_an_old_name_beside_a_new_one() -> None:
    old = gauge("vllm:gpu_cache_usage_perc", 0.2)
    found = merged(part("a", gauge(USAGE, 0.6)), part("b", old))
    assert found[f"{USAGE}@b"] == 0.2
    assert found["floor_model_kv_cache_usage_ratio"] == pytest.approx(0.4)


def test_absent_is_not_zero() -> None:
    """A copy that does not tell its cache takes no part in the mean."""
    found = merged(part("a", gauge(USAGE, 0.6)), part("b", captured("llamacpp/metrics_busy.txt"), "llamacpp"))
    assert found["floor_model_kv_cache_usage_ratio"] == pytest.approx(0.6)
    assert "floor_copy_kv_cache_usage_ratio@b" not in found


def test_a_gauge_that_nobody_declared_is_shown_for_each_copy_alone() -> None:
    found = merged(part("a", gauge("vllm:new_thing", 1)), part("b", gauge("vllm:new_thing", 2)))
    assert found == {"vllm:new_thing@a": 1, "vllm:new_thing@b": 2}


def test_a_longest_sequence_is_the_longest_of_all() -> None:
    pages = (f"# TYPE llamacpp:n_tokens_max counter\nllamacpp:n_tokens_max {count}\n" for count in (7, 5))
    parts = [part(name, page, "llamacpp") for name, page in zip("ab", pages, strict=True)]
    assert merged(*parts)["floor_sum:llamacpp:n_tokens_max"] == 7


def test_different_buckets_are_merged_where_both_have_them() -> None:
    lines = '# TYPE h histogram\nh_bucket{le="1.0"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n'
    more = '# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="2.5"} 4\nh_bucket{le="+Inf"} 5\nh_sum 6\nh_count 5\n'
    found = merged(part("a", lines), part("b", more))
    assert {name: value for name, value in found.items() if name.startswith("floor_sum:h")} == {
        "floor_sum:h_bucket[le=1.0]": 3,
        "floor_sum:h_bucket[le=+Inf]": 7,
        "floor_sum:h_sum": 9,
        "floor_sum:h_count": 7,
    }
    assert found["h_bucket@b[le=2.5]"] == 4


def test_a_sum_of_which_one_copy_has_none_is_none() -> None:
    lines = '# TYPE h histogram\nh_bucket{le="+Inf"} 2\nh_count 2\n'
    found = merged(part("a", lines), part("b", lines + "h_sum 3\n"))
    assert "floor_sum:h_sum" not in found
    assert found["floor_sum:h_count"] == 4


def test_a_name_has_one_type() -> None:
    found = merged(part("a", "# TYPE x counter\nx 1\n"), part("b", "# TYPE x gauge\nx 2\n"))
    assert found == {"x@a": 1, "floor_sum:x": 1}


def test_two_models_have_their_own_sums() -> None:
    lines = "# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total 5\n"
    page = check(write(merge([part("a", lines, model="m"), part("a", lines, model="n")])))
    assert page["floor_model_generated_tokens_total", frozenset({("model", "n")})] == 5
    assert page["floor_sum:vllm:generation_tokens_total", frozenset({("model", "m")})] == 5


def test_an_ollama_beside_others() -> None:
    cold = Part("m@c", "c", "m", {}, ollama(b'{"models": []}', "m"))
    found = merged(part("a", captured("vllm/metrics_busy.txt")), cold)
    assert found["floor_copy_loaded@c"] == found["floor_model_loaded"] == 0
    assert found["floor_model_requests_running"] == 4


def test_a_line_of_a_histogram_that_is_also_a_name() -> None:
    """Two engines, one of which calls a counter as the other's histogram calls a line: no page has a line twice."""
    histogram = '# TYPE x histogram\nx_bucket{le="+Inf"} 2\nx_count 2\n'
    found = merged(part("a", histogram), part("b", "# TYPE x_count counter\nx_count 3\n"))
    assert found["x_count@a"] == 2
    assert "x_count@b" not in found


def test_removed_copies_stay_in_the_sum() -> None:
    """A model's sum would fall otherwise, which Prometheus takes for a restart and counts all of it once more."""
    busy = captured("vllm/metrics_busy.txt")
    rest = remainder("m", [part("a", busy), part("b", busy)])
    assert rest is not None
    page = check(write(merge([part("c", busy), rest])))
    total = page["floor_model_generated_tokens_total", frozenset({("model", "m")})]
    gone = page["floor_copy_generated_tokens_total", frozenset({("model", "m"), ("copy", "removed"), ("box", "")})]
    assert (total, gone) == (3 * 2971, 2 * 2971)
    # Who is gone runs nothing.
    assert page["floor_model_requests_running", frozenset({("model", "m")})] == 4
    assert remainder("m", []) is None


def test_names_that_could_end_a_line() -> None:
    odd = 'a"b\\c\nd'
    page = write(merge([Part(odd, odd, odd, part("a", "# HELP x y\\\\z\n# TYPE x counter\nx 1\n").page)]))
    assert len(check(page)) == 2
    assert "# HELP x y\\\\z\n" in page


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (
            '# TYPE {running} gauge\n{running}{{engine="0"}} +Inf\n{running}{{engine="1"}} -Inf\n',
            {"floor_model_requests_running": "nan"},
        ),
        (
            '# TYPE {usage} gauge\n{usage}{{engine="0"}} +Inf\n{usage}{{engine="1"}} -Inf\n',
            {"floor_model_kv_cache_usage_ratio": "nan"},
        ),
        (
            '# TYPE {running} gauge\n{running}{{engine="0"}} 1e308\n{running}{{engine="1"}} 1e308\n',
            {"floor_model_requests_running": "inf"},
        ),
        ('# TYPE c counter\nc{{engine="0"}} 1e308\nc{{engine="1"}} +Inf\nc 3\n', {"floor_sum:c": "3.0"}),
        (
            '# TYPE h histogram\nh_bucket{{le="+Inf"}} 2\nh_sum +Inf\nh_count +Inf\n',
            {"floor_sum:h_count": "2.0", "floor_sum:h_sum": "None"},
        ),
        (
            '# TYPE llamacpp:n_tokens_max histogram\nllamacpp:n_tokens_max_bucket{{le="+Inf"}} 1\nx 1\n',
            {"floor_sum:llamacpp:n_tokens_max": "None"},
        ),
    ],
)
def test_numbers_that_cannot_be_added_cost_only_the_copy_that_tells_them(page: str, shown: dict[str, str]) -> None:
    """The other model on the same page has all of its figures."""
    odd = part("a", page.format(running="vllm:num_requests_running", usage=USAGE), model="odd")
    found = check(write(merge([odd, part("b", captured("vllm/metrics_busy.txt"))])))
    assert found["floor_model_requests_running", frozenset({("model", "m")})] == 4
    assert found["floor_model_generated_tokens_total", frozenset({("model", "m")})] == 2971
    assert {name: str(found.get((name, frozenset({("model", "odd")})))) for name in shown} == shown


@pytest.mark.parametrize("text", ["a \\q b", "ends in \\", "a \\n b \\\\ c"])
def test_a_help_text_with_escapes_that_are_none(text: str) -> None:
    """Readers other than Prometheus itself refuse the page of who writes one."""
    page = write(merge([part("a", f"# HELP x {text}\n# TYPE x counter\nx 1\n")]))
    written = page.splitlines()[0].removeprefix("# HELP x ")
    assert re.fullmatch(r"(?:[^\\]|\\[\\n])*", written)


NAMES = st.sampled_from(["c", "d_total", "h", "i", "g", USAGE, "vllm:num_requests_running", "s"])
NUMBERS = st.integers(0, 1000)
# Numbers that nothing counts up to, and which would be raised when they are added, or never leave a sum again.
ODD = st.sampled_from(["+Inf", "-Inf", "NaN", "1e308", "-1e308", "-5", "9.3e18"])


@st.composite
def pages(draw: st.DrawFn) -> str:
    """A random page: counters, gauges, summaries, and histograms over any bounds, written as engines write them."""
    lines: list[str] = []
    for name in draw(st.lists(NAMES, unique=True, max_size=6)):
        labels = draw(st.sampled_from([[], ['engine="0"'], ['engine="1"'], ['x="y"'], ['x="y"', 'engine="0"']]))
        kind = {"h": "histogram", "i": "histogram", "s": "summary"}.get(name, "gauge" if name[0] in "gv" else "counter")
        lines.append(f"# TYPE {name} {draw(st.sampled_from([kind, kind, kind, 'counter']))}")
        own = ",".join(labels)
        if draw(st.integers(0, 9)) == 0:
            parts = {"histogram": ('_bucket{le="+Inf"}', "_sum", "_count"), "summary": ("_sum", "_count")}.get(
                kind, ("",)
            )
            lines += [f"{name}{part} {draw(ODD)}" for part in parts]
            continue
        if kind == "histogram":
            bounds = [*draw(st.lists(st.sampled_from(["0.5", "1", "1.0", "2.5", "10"]), max_size=4)), "+Inf"]
            bounds.sort(key=float)
            counts = sorted(draw(st.lists(NUMBERS, min_size=len(bounds), max_size=len(bounds))))
            for bound, count in zip(bounds, counts, strict=True):
                lines.append(f'{name}_bucket{{{own}{"," if own else ""}le="{bound}"}} {count}')
            lines.append(f"{name}_count{{{own}}} {counts[-1]}")
        elif kind == "summary":
            lines.append(f"{name}_count{{{own}}} {draw(NUMBERS)}")
        else:
            lines.append(f"{name}{{{own}}} {draw(NUMBERS)}")
    return "\n".join([*lines, "always 1", ""])


@settings(max_examples=120)
@given(st.lists(st.lists(pages(), min_size=1, max_size=3), min_size=1, max_size=4))
def test_any_pages_make_a_valid_page_whose_sums_are_those_of_its_parts(histories: list[list[str]]) -> None:
    """Looks at copies with restarts between them: the page is valid each time, and no counter of it goes backwards."""
    pasts = [Past() for _ in histories]
    before: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for look in range(3):
        parts = []
        for at, history in enumerate(histories):
            page = present(Reader().read(history[min(look, len(history) - 1)].encode()))
            pasts[at] = absorb(pasts[at], page)
            shown = totals(pasts[at], page)
            parts.append(Part(f"m@{at}", str(at), "m", shown, figures("vllm", shown)))
        text = write(merge(parts))
        found = check(text)
        _adds_up(found)
        growing = {
            line.split()[2] for line in text.splitlines() if line.startswith("# TYPE") and line[-7:] == "counter"
        }
        counters = {key: value for key, value in found.items() if key[0] in growing}
        assert all(map(math.isfinite, counters.values()))
        assert all(value >= before.get(key, 0) for key, value in counters.items())
        before = counters


def _adds_up(found: dict[tuple[str, frozenset[tuple[str, str]]], float]) -> None:
    """Each sum of a counter, and each count of a histogram, is that of the copies."""
    for (name, labels), value in found.items():
        own = name.removeprefix("floor_sum:")
        if own == name or not (own in ("c", "d_total") or own.endswith("_count")):
            continue
        parts = [
            number
            for (other, told), number in found.items()
            if other == own and {pair for pair in told if pair[0] not in ("copy", "box", "engine")} == set(labels)
        ]
        assert parts, name
        assert value == math.fsum(parts), (name, labels)
