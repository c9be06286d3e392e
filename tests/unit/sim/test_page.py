"""The metrics page against pages captured from a real vLLM, idle and busy."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from floor.sim.curve import PRESETS
from floor.sim.page import Snapshot, bounds_of, families, one_two_five, render
from floor.sim.scheduler import Limits, Scheduler
from floor.sim.settings import Settings, Simulation
from floor.sim.stats import Stats

# As the captured server was started: a model of 2048 tokens, a cache of 262144, blocks of 128, 12 requests at once.
SETTINGS = Settings(
    served_names=("flagship",),
    max_model_len=2048,
    max_num_seqs=4,
    block_size=128,
    simulation=Simulation(kv_tokens=262_144, kv_gib=1),
)
STARTED = 1796007746.93


def busy() -> Snapshot:
    """Four requests run and four wait, two have ended, one client left: as when the page was captured."""
    stats = Stats(bounds_of(2048))
    scheduler = Scheduler(Limits(4, 262_144, 1e9, PRESETS["short"], 128))
    for prompt, want in [(14, 8), (14, 8), *[(2, 10**4)] * 8]:
        scheduler.submit(0.0, prompt, want)
    for event in scheduler.advance(5.0):
        stats.take(event)
        if event.kind == "finished" and event.sequence is not None:
            stats.finish(event.sequence, event.at, "length", 8, 1)
    left = scheduler.submit(5.0, 5, 5)
    scheduler.abort(6.0, left)
    stats.finish(left, 6.0, "abort", 5, 1)
    stats.count("http_requests_total", handler="/v1/models", method="GET", status="2xx")
    stats.observe("http_request_duration_highr_seconds", 0.02)
    stats.observe("http_request_duration_seconds", 0.02, handler="/v1/models", method="GET")
    stats.observe("http_request_size_bytes", 0, handler="/v1/models")
    stats.observe("http_response_size_bytes", 400, handler="/v1/models")
    return Snapshot(SETTINGS, stats, scheduler, STARTED)


def idle() -> Snapshot:
    scheduler = Scheduler(Limits(4, 262_144, 1e9, PRESETS["short"], 128))
    return Snapshot(SETTINGS, Stats(bounds_of(2048)), scheduler, STARTED)


def heads(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("# ")]


def samples(page: str) -> dict[str, set[str]]:
    """The label sets of each sample name, as written; figures that are this engine's own are dropped."""
    found = defaultdict(set)
    for line in page.splitlines():
        if line and not line.startswith("#"):
            name, _, labels = line.rpartition(" ")[0].partition("{")
            found[name].add(re.sub(r'(handler|method|status|version|minor|patchlevel)="[^"]*"', r"\1", labels))
    return found


def values(page: str) -> Mapping[str, float]:
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def value(page: str, name: str, **label: str) -> float:
    wanted = [("engine", "0"), *label.items(), ("model_name", "flagship")]
    return values(page)[f"{name}{sorted(wanted)}"]


@pytest.mark.parametrize("name", ["metrics_idle.txt", "metrics_busy.txt"])
def test_families_their_order_types_and_help_are_the_captured_ones(vllm: Path, name: str) -> None:
    assert heads(render(busy())) == heads((vllm / name).read_text())


def test_sample_names_labels_and_buckets_are_the_captured_ones(vllm: Path) -> None:
    captured, ours = samples((vllm / "metrics_busy.txt").read_text()), samples(render(busy()))
    assert ours.keys() == captured.keys()
    for name, labels in captured.items():
        if name.startswith("http_"):
            assert ours[name] <= labels, name
        else:
            assert ours[name] == labels, name


def test_an_idle_engine_shows_its_families_at_zero(vllm: Path) -> None:
    page = render(idle())
    vllm_only = re.compile(r"# TYPE vllm:")
    captured = [line for line in heads((vllm / "metrics_idle.txt").read_text()) if vllm_only.match(line)]
    assert [line for line in heads(page) if vllm_only.match(line)] == captured
    assert value(page, "vllm:generation_tokens_total") == 0
    assert value(page, "vllm:kv_cache_usage_perc") == 0


def test_a_busy_engine_tells_what_it_does() -> None:
    page = render(busy())
    assert value(page, "vllm:num_requests_running") == 4
    assert value(page, "vllm:num_requests_waiting") == 4
    assert value(page, "vllm:num_requests_waiting_by_reason", reason="capacity") == 4
    assert value(page, "vllm:num_requests_waiting_by_reason", reason="deferred") == 0
    assert value(page, "vllm:request_success_total", finished_reason="length") == 2
    assert value(page, "vllm:request_success_total", finished_reason="abort") == 1
    assert value(page, "vllm:prompt_tokens_total") == 28 + 4 * 2
    assert value(page, "vllm:request_prompt_tokens_sum") == 28
    assert 0 < value(page, "vllm:kv_cache_usage_perc") < 0.02
    assert value(page, "vllm:engine_sleep_state", sleep_state="awake") == 1


def test_token_counts_agree_with_each_other() -> None:
    page = render(busy())
    generated = value(page, "vllm:generation_tokens_total")
    first = value(page, "vllm:time_to_first_token_seconds_count")
    assert generated == first + value(page, "vllm:inter_token_latency_seconds_count")
    assert value(page, "vllm:iteration_tokens_total_sum") == generated + value(page, "vllm:prompt_tokens_total")


def test_histograms_are_cumulative_and_end_at_their_count() -> None:
    for family in text_string_to_metric_families(render(busy())):
        if family.type == "histogram":
            series: dict[tuple[tuple[str, str], ...], list[float]] = defaultdict(list)
            for sample in family.samples:
                key = tuple((k, v) for k, v in sample.labels.items() if k != "le")
                if not sample.name.endswith(("_sum", "_created")):
                    series[key].append(sample.value)
            for counts in series.values():
                assert counts == sorted(counts), family.name


def test_the_caches_figures_are_the_captured_ones(vllm: Path) -> None:
    def info(page: str) -> str:
        return next(line for line in page.splitlines() if line.startswith("vllm:cache_config_info"))

    assert info(render(idle())) == info((vllm / "metrics_idle.txt").read_text())


def test_a_sleeping_engine_says_so() -> None:
    snapshot = idle()
    page = render(Snapshot(SETTINGS, snapshot.stats, snapshot.scheduler, STARTED, asleep=True))
    assert value(page, "vllm:engine_sleep_state", sleep_state="awake") == 0
    assert value(page, "vllm:engine_sleep_state", sleep_state="weights_offloaded") == 1
    assert value(page, "vllm:engine_sleep_state", sleep_state="discard_all") == 0


def test_a_name_with_quotes_stays_one_label() -> None:
    odd = 'a "b"\\c'
    snapshot = Snapshot(Settings(served_names=(odd,)), Stats(bounds_of(2048)), idle().scheduler, STARTED)
    names = {
        sample.labels["model_name"]
        for family in text_string_to_metric_families(render(snapshot))
        for sample in family.samples
        if "model_name" in sample.labels
    }
    assert names == {odd}


def test_large_numbers_are_written_as_prometheus_client_writes_them() -> None:
    assert "process_start_time_seconds 1.79600774693e+09\n" in render(idle())


@pytest.mark.parametrize(
    ("longest", "last", "count"), [(2048, 2000, 11), (262_144, 200_000, 17), (1, 1, 1), (500, 500, 9)]
)
def test_token_buckets_follow_the_context(longest: int, last: float, count: int) -> None:
    bounds = one_two_five(longest)
    assert (bounds[-1], len(bounds)) == (last, count)


def test_the_table_of_families_has_no_name_twice() -> None:
    names = [family["name"] for family in families()]
    assert len(names) == len(set(names))
