"""What one page of 64 copies costs: floor's against one made with prometheus_client's parser, in turns on this machine.

Run: `python benchmarks/metrics.py`. Both are given the same 64 pages of a real vLLM under load and make one page of it.
The peer is an aggregator as they are commonly built: every page parsed anew with prometheus_client, equal series added,
each copy's series labelled, the page written line by line. It absorbs no restart and knows no gauge that must not be
added, so it does less. Medians of the rounds; time is of one core. Ends with 1 where floor's page takes more than 1 s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from floor.metrics.absorb import Past, absorb, totals
from floor.metrics.exposition import Reader
from floor.metrics.merge import Part, merge
from floor.metrics.normalise import figures, present
from floor.metrics.page import write

PAGE = (Path(__file__).parents[1] / "tests" / "cases" / "vllm" / "metrics_busy.txt").read_bytes()
GOAL = 1.0  # seconds of one core for a page of 64 copies


class Floor:
    """Readers and pasts stay from round to round, as they do in the service."""

    def __init__(self, copies: int) -> None:
        self.readers = [Reader() for _ in range(copies)]
        self.pasts = [Past() for _ in range(copies)]

    def page(self) -> str:
        parts = []
        for number, reader in enumerate(self.readers):
            page = present(reader.read(PAGE))
            self.pasts[number] = absorb(self.pasts[number], page)
            shown = totals(self.pasts[number], page)
            parts.append(Part(f"m@b{number}", f"b{number}", "m", shown, figures("vllm", shown)))
        return write(merge(parts))


def peer(copies: int) -> str:
    """One page by prometheus_client's parser."""
    lines: list[str] = []
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for number in range(copies):
        for family in text_string_to_metric_families(PAGE.decode()):
            for sample in family.samples:
                labels = tuple(sorted(sample.labels.items()))
                sums[sample.name, labels] = sums.get((sample.name, labels), 0.0) + sample.value
                lines.append(_line(sample.name, (*labels, ("copy", f"m@b{number}")), sample.value))
    return "\n".join([*lines, *(_line(name, labels, value) for (name, labels), value in sums.items())])


def _line(name: str, labels: tuple[tuple[str, str], ...], value: float) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in labels)
    return f"{name}{{{inside}}} {value!r}"


def seconds(work: Callable[[], str]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    floor = Floor(options.copies)
    first = seconds(floor.page)
    times: dict[str, list[float]] = {"floor": [], "peer": []}
    for _ in range(options.rounds):
        times["floor"].append(seconds(floor.page))
        times["peer"].append(seconds(lambda: peer(options.copies)))
    ours, theirs = (statistics.median(times[name]) for name in ("floor", "peer"))
    tracemalloc.start()
    fresh = Floor(options.copies)
    size = len(fresh.page())
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if options.json:
        print(json.dumps({"floor": ours, "first": first, "peer": theirs, "bytes": size, "kept": kept, "peak": peak}))
    else:
        print(f"{options.copies} pages of {len(PAGE)} bytes, {options.rounds} rounds, medians, seconds of one core")
        print(f"floor:             {ours:.3f}   (the first page {first:.3f})")
        print(f"prometheus_client: {theirs:.3f}   ({theirs / ours:.1f} times as long)")
        print(f"floor's page: {size / 1e6:.1f} MB; memory kept {kept / 1e6:.0f} MB, at most {peak / 1e6:.0f} MB")
    return 0 if ours <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
