"""Reading the few wanted numbers out of a metrics page, whatever else is on it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from floor.healthcheck.dialects import find
from floor.healthcheck.exposition import Family, read
from floor.healthcheck.load import Load

CAPTURES = Path(__file__).parents[2] / "cases" / "vllm"
load = find("vllm").load


def one(page: bytes, name: bytes = b"a", **rest: object) -> float | None:
    return read(page, {"x": Family((name,), **rest)}).get("x")  # type: ignore[arg-type]


def test_a_busy_page_of_a_real_engine() -> None:
    """The captured page of vLLM 0.32 under load, every number that is used."""
    assert load((CAPTURES / "metrics_busy.txt").read_bytes()) == Load(
        running=4,
        waiting=4,
        usage=0.012701514411333714,
        generated=2971,
        prompted=36,
        steps=969,
        finished=2,
        started=1.79600774693e09,
    )


def test_an_idle_page_of_a_real_engine() -> None:
    """Zero where the page says zero."""
    found = load((CAPTURES / "metrics_idle.txt").read_bytes())
    assert found is not None
    assert (found.running, found.waiting, found.in_flight) == (0, 0, 0)
    assert found.started == 1.79600774693e09


@pytest.mark.parametrize("name", ["metrics_busy.txt", "metrics_idle.txt"])
def test_the_same_numbers_as_a_whole_parser(name: str) -> None:
    """prometheus_client reads the same sums from the same page."""
    page = (CAPTURES / name).read_bytes()
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            if sample.labels.get("finished_reason") not in ("abort", "error"):
                sums[sample.name] = sums.get(sample.name, 0) + sample.value
    found = load(page)
    assert found is not None
    assert found.running == sums["vllm:num_requests_running"]
    assert found.waiting == sums["vllm:num_requests_waiting"]
    assert found.generated == sums["vllm:generation_tokens_total"]
    assert found.prompted == sums["vllm:prompt_tokens_total"]
    assert found.steps == sums["vllm:iteration_tokens_total_count"]
    assert found.finished == sums["vllm:request_success_total"]
    assert found.started == sums["process_start_time_seconds"]


def test_absent_is_not_zero() -> None:
    """A page with one number says nothing of the others."""
    found = load(b"vllm:num_requests_running 3\n")
    assert found == Load(running=3)
    assert found is not None
    assert found.in_flight is None


def test_the_older_name_of_the_cache_usage_and_the_newer_one_first() -> None:
    """`gpu_cache_usage_perc` became `kv_cache_usage_perc`."""
    assert load(b"vllm:gpu_cache_usage_perc 0.4\n") == Load(usage=0.4)
    assert load(b"vllm:gpu_cache_usage_perc 0.4\nvllm:kv_cache_usage_perc 0.5\n") == Load(usage=0.5)


def test_engines_of_one_server_add_up_and_the_fullest_cache_counts() -> None:
    """Data parallel: a series for each engine."""
    page = b"".join(
        b'vllm:num_requests_running{engine="%d"} 2.0\nvllm:kv_cache_usage_perc{engine="%d"} 0.4\n' % (n, n)
        for n in range(3)
    )
    assert load(page) == Load(running=6, usage=0.4)


def test_aborts_and_errors_are_no_answers() -> None:
    """A dead engine's clients leave as well."""
    page = b"".join(
        b'vllm:request_success_total{finished_reason="%s"} 5\n' % reason
        for reason in (b"stop", b"length", b"abort", b"error")
    )
    assert load(page) == Load(finished=10)


def test_a_page_without_any_metric_of_the_engine_is_no_page() -> None:
    """A node exporter has a start time too."""
    assert load(b"process_start_time_seconds 1\nnode_load1 2\n") is None


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<html><body>502 Bad Gateway</body></html>",
        b'"# HELP vllm:num_requests_running x\\nvllm:num_requests_running 1"',
        b'{"error":{"message":"not enabled","code":501}}',
        b"vllm:num_requests_running",
        b"vllm:num_requests_running{",
        b'vllm:num_requests_running{a="',
        b"vllm:num_requests_running NaN",
        b"vllm:num_requests_running +Inf",
        b"vllm:num_requests_running 1e999",
        b"vllm:num_requests_running one",
        b"vllm:num_requests_runningx 1",
        b" vllm:num_requests_running 1",
        b"# vllm:num_requests_running 1",
        b"\xff\xfe\x00vllm:num_requests_running 1",
        b"\x00" * 1000,
    ],
)
def test_garbage_is_absent(page: bytes) -> None:
    """HTML, JSON, cut lines and numbers that are none leave nothing behind."""
    assert load(page) is None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"a 1", 1),
        (b"a 1\r", 1),
        (b"a\t2", 2),
        (b"a{} 3", 3),
        (b"a 4 1700000000000", 4),
        (b'a{l="}"} 5', 5),
        (b'a{l="\\"} 9"} 6', 6),
        (b'a{l="x y"} 7 # {trace="t"} 1.0', 7),
        (b"a -1.5e3", -1500),
        (b'a{l="\xe2\x82\xac"} 8', 8),
    ],
)
def test_lines_of_the_format(line: bytes, value: float) -> None:
    """Labels may hold anything in quotes; a time or an exemplar may follow the value."""
    assert one(b"# TYPE a gauge\n" + line + b"\nb 99\n") == value


def test_a_name_that_begins_another_is_not_it() -> None:
    """`num_requests_waiting` and `num_requests_waiting_by_reason` stand on one page."""
    assert one(b'a_b{x="y"} 5\na 1\nab 3\n') == 1


def test_more_series_than_an_engine_has_are_not_believed() -> None:
    """A page made to be long costs little and counts for nothing."""
    assert one(b"a 1\n" * 4096) == 4096
    assert one(b"a 1\n" * 4097) is None


def test_a_hostile_line_costs_linear_time() -> None:
    """No pattern may look twice at a byte: a megabyte of quotes is read at once."""
    assert one(b'a{l="' + b'\\"' * 500_000) is None
    assert one(b"a{" + b'x="",' * 200_000) is None


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_no_bytes_raise(page: bytes) -> None:
    """Whatever came, it is read as far as it is a page."""
    load(page)
    load(b"vllm:num_requests_running " + page)
    load(b"vllm:num_requests_running{" + page)


def test_numbers_whose_sum_no_number_holds() -> None:
    """They are raised by an exact sum, and would end who asks: a pool."""
    page = b'vllm:num_requests_running{engine="0"} 1e308\nvllm:num_requests_running{engine="1"} 1e308\n'
    page += b"vllm:num_requests_waiting 3\n"
    found = load(page)
    assert found is not None
    assert (found.running, found.waiting) == (None, 3)


def test_an_ollama_with_a_size_that_no_number_holds() -> None:
    assert find("ollama").load(b'{"models": [{"name": "m", "size": 1%s}]}' % (b"0" * 400)) is None


LABELS = st.dictionaries(st.sampled_from("xyz"), st.text(max_size=12), max_size=3)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(st.tuples(st.sampled_from(["a", "ab", "a_total", "b"]), LABELS, NUMBERS), max_size=12))
@settings(deadline=None)
def test_agrees_with_prometheus_client_on_any_valid_page(series: list[tuple[str, dict[str, str], float]]) -> None:
    """Every sum of one name is what the whole parser's samples add up to."""

    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    lines = []
    for name, labels, value in series:
        inside = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{inside}}} {value!r}" if labels else f"{name} {value!r}")
    page = "\n".join(lines) + "\n"
    parsed = [
        sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "a"
    ]
    found = one(page.encode("utf-8", "surrogatepass"))
    assert found == (math.fsum(parsed) if parsed else None)
