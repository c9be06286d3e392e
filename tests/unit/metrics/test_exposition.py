"""Reading whole pages of engines."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from floor.metrics.exposition import MOST_LINES, Reader, UnreadableError
from floor.metrics.values import Family, Histogram, Kind, Summary

CASES = Path(__file__).parents[2] / "cases"
GARBAGE = yaml.safe_load((CASES / "metrics" / "garbage.yaml").read_text())


def read(text: str) -> dict[str, Family]:
    return dict(Reader().read(text.encode()))


@pytest.mark.parametrize("case", GARBAGE, ids=[case["name"] for case in GARBAGE])
def test_what_is_no_page_is_refused_with_its_line(case: dict[str, str]) -> None:
    with pytest.raises(UnreadableError) as caught:
        Reader().read(case["body"].encode())
    assert str(caught.value).startswith(case["says"])


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(UnreadableError, match="not text in UTF-8"):
        Reader().read(b"a 1\n\xff\xfe 2\n")


def test_a_page_without_end() -> None:
    with pytest.raises(UnreadableError, match="has 40001 lines"):
        Reader().read(b"a 1\n" * (MOST_LINES + 1))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """Nothing but UnreadableError comes out."""
    try:
        Reader().read(body)
    except UnreadableError:
        return


@given(st.text(alphabet='ab{}="\\,# \n1_.eE+-NaInf', max_size=60))
def test_any_text_like_a_page_is_read_or_refused(text: str) -> None:
    try:
        Reader().read(text.encode())
    except UnreadableError:
        return


def test_a_real_vllm_page() -> None:
    page = Reader().read((CASES / "vllm" / "metrics_busy.txt").read_bytes())
    labels = (("engine", "0"), ("model_name", "flagship"))
    assert page["vllm:generation_tokens_total"].kind is Kind.COUNTER
    assert page["vllm:generation_tokens_total"].children == {labels: 2971.0}
    first = page["vllm:time_to_first_token_seconds"].children[labels]
    assert isinstance(first, Histogram)
    assert first.count == 6
    assert first.sum == 0.45872950553894043
    assert first.bounds[-1] == math.inf
    assert not [name for name in page if name.endswith("_created")]
    # A histogram whose name ends like a counter's.
    assert page["vllm:iteration_tokens_total"].kind is Kind.HISTOGRAM
    assert page["http_request_size_bytes"].kind is Kind.SUMMARY


def test_a_real_llamacpp_page() -> None:
    page = Reader().read((CASES / "llamacpp" / "metrics_busy.txt").read_bytes())
    assert page["llamacpp:requests_processing"] == Family(
        "llamacpp:requests_processing", Kind.GAUGE, "Number of requests processing", {(): 2.0}
    )


def test_reading_twice_is_as_reading_once() -> None:
    """What is remembered of a page changes nothing, whatever page came between."""
    reader = Reader()
    busy, idle = ((CASES / "vllm" / f"metrics_{which}.txt").read_bytes() for which in ("busy", "idle"))
    other = (CASES / "llamacpp" / "metrics_busy.txt").read_bytes()
    assert [reader.read(one) for one in (busy, other, idle, busy)] == [
        Reader().read(one) for one in (busy, other, idle, busy)
    ]


def test_a_name_that_changes_its_type() -> None:
    reader = Reader()
    assert reader.read(b"# TYPE a counter\na 1\n")["a"].kind is Kind.COUNTER
    assert reader.read(b"# TYPE a gauge\na 1\n")["a"].kind is Kind.GAUGE


def test_bounds_are_numbers() -> None:
    """`1` and `1.0` are one bucket."""
    page = read('# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="1.0"} 3\na_bucket{le="+Inf"} 4\na_count 4\n')
    assert page["a"].children == {(): Histogram((1.0, math.inf), (3.0, 4.0), None)}


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        ('a_bucket{le="1"} 5\na_bucket{le="2"} 4\na_bucket{le="+Inf"} 6\n', (5.0, 5.0, 6.0)),
        ('a_bucket{le="1"} 5\na_bucket{le="2"} 5\na_count 7\n', (5.0, 5.0, 7.0)),
        ('a_bucket{le="2"} 5\na_bucket{le="1"} 4\na_count 3\n', (4.0, 5.0, 5.0)),
    ],
)
def test_buckets_are_cumulative_and_end_at_infinity(lines: str, counts: tuple[float, ...]) -> None:
    child = read("# TYPE a histogram\n" + lines)["a"].children[()]
    assert isinstance(child, Histogram)
    assert child.bounds == (1.0, 2.0, math.inf)
    assert child.counts == counts


def test_a_histogram_that_is_none_is_left_out() -> None:
    assert read('# TYPE a histogram\na_bucket{le="1"} 5\na_sum 1\nb 1\n')["a"].children == {}
    assert read("# TYPE a histogram\na_sum 1\nb 1\n")["a"].children == {}


def test_a_summary_with_quantiles() -> None:
    page = read('# TYPE a summary\na{quantile="0.5"} 1\na{quantile="0.9"} 2\na_sum 3\na_count 4\n')
    assert page["a"].children == {(): Summary(4.0, 3.0, ((0.5, 1.0), (0.9, 2.0)))}


@pytest.mark.parametrize(
    ("text", "children"),
    [
        ("# TYPE a counter\na 1\n# TYPE a gauge\n", {(): 1.0}),  # the first TYPE counts
        ("# TYPE a counter\na -1\nb 0\n", {}),
        ("# TYPE a counter\na NaN\nb 0\n", None),
        ("a 1 1700000000000\n", {(): 1.0}),
        ('a 1 # {trace="x"} 0.5 1.0\n', {(): 1.0}),
        ("a\t1\n", {(): 1.0}),
        ('a { b = "c" , } 1\n', {(("b", "c"),): 1.0}),
        ('a{b="x\\"y\\\\z\\nw"} 1\n', {(("b", 'x"y\\z\nw'),): 1.0}),
        ('a{z="1",b="2"} +Inf\n', {(("b", "2"), ("z", "1")): math.inf}),
        ('a{copy="x",model="y"} 1\n', {(("exported_copy", "x"), ("exported_model", "y")): 1.0}),
        # A page may have each label once: Prometheus would take none of it.
        (
            'a{copy="x",exported_copy="y"} 1\n',
            {(("exported_copy", "y"), ("exported_exported_copy", "x")): 1.0},
        ),
        ('a{b="}"} 1\n', {(("b", "}"),): 1.0}),
        ('a{b="c d"} 1\r\n', {(("b", "c d"),): 1.0}),
    ],
)
def test_odd_lines(text: str, children: dict[object, float] | None) -> None:
    family = read(text).get("a")
    assert (family and family.children) == children


@pytest.mark.parametrize(
    "text",
    [
        "floor_copy_requests_running 4\nb 1\n",
        "# TYPE a counter\na_total 1\na_created 1.7e9\nb 1\n",
        "# TYPE a_total counter\na_total 1\na_created 1.7e9\nb 1\n",
        "# TYPE a histogram\na_created 1.7e9\nb 1\n",
    ],
)
def test_names_that_are_left_out(text: str) -> None:
    assert set(read(text)) <= {"a", "a_total", "b"}


def test_a_counter_named_as_openmetrics_names_it() -> None:
    assert read("# TYPE a counter\na_total 1\n")["a_total"].kind is Kind.COUNTER
