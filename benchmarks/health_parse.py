"""How long reading a metrics page takes: the search for the wanted names against prometheus_client's whole parser.

Run: `python benchmarks/health_parse.py`. It reads the page of a real vLLM under load, in interleaved rounds, and prints
medians. The pool reads such a page of every backend twice a second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from floor.healthcheck.dialects import find

PAGE = Path(__file__).parents[1] / "tests" / "cases" / "vllm" / "metrics_busy.txt"
ROUNDS = 200


def whole(page: bytes) -> int:
    """Every family of the page, as prometheus_client reads it."""
    return sum(len(family.samples) for family in text_string_to_metric_families(page.decode()))


def seconds(work: Callable[[bytes], object], page: bytes) -> float:
    began = time.perf_counter()
    work(page)
    return time.perf_counter() - began


def main() -> None:
    page = PAGE.read_bytes()
    load = find("vllm").load
    assert load(page) is not None
    times: dict[str, list[float]] = {"search": [], "whole": []}
    for _ in range(ROUNDS):
        times["search"].append(seconds(load, page))
        times["whole"].append(seconds(whole, page))
    search, parser = (statistics.median(times[name]) for name in ("search", "whole"))
    print(f"page: {len(page)} bytes, {len(page.splitlines())} lines; {ROUNDS} rounds, medians")
    print(f"search for the wanted families: {search * 1e6:8.0f} us")
    print(f"prometheus_client, all families: {parser * 1e6:8.0f} us ({parser / search:.0f} times as long)")
    print(f"ten backends, twice a second: {search * 20:.2%} of one core, {parser * 20:.2%} with the whole parser")


if __name__ == "__main__":
    main()
