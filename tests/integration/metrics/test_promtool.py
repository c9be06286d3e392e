"""Prometheus's own checker (Debian package prometheus) reads the page.

It also complains of names with a colon, and of types that engines chose: those are the engines' own, and stay.
"""

from __future__ import annotations

import subprocess

from floor.metrics.absorb import Past, absorb, totals
from floor.metrics.copies import Copy, own
from floor.metrics.exposition import Reader
from floor.metrics.look import Look
from floor.metrics.merge import Part, merge, remainder
from floor.metrics.normalise import figures, present
from floor.metrics.page import write
from floor.metrics.settings import Backend
from floor.metrics.traffic import Traffic
from floor.metrics.values import Family
from tests.integration.metrics.conftest import CASES

THEIRS = ("metric names should not contain ':'", 'non-counter metrics should not have "_total" suffix')
UNREADABLE = 1  # promtool: the page could not be parsed; 3: it could, and has a finding


def promtool(families: list[Family]) -> tuple[int, list[str]]:
    found = subprocess.run(
        ["promtool", "check", "metrics"], input=write(families), text=True, capture_output=True, check=False
    )
    return found.returncode, [line for line in (found.stdout + found.stderr).splitlines() if line]


def part(name: str, capture: str, dialect: str) -> Part:
    page = present(Reader().read((CASES / capture).read_bytes()))
    page = totals(absorb(Past(), page), page)
    return Part(f"flagship@{name}", name, "flagship", page, figures(dialect, page))


def whole() -> list[Family]:
    parts = [
        part("a", "vllm/metrics_busy.txt", "vllm"),
        part("b", "vllm/metrics_idle.txt", "vllm"),
        part("c", "llamacpp/metrics_busy.txt", "llamacpp"),
    ]
    gone = remainder("flagship", [part("d", "vllm/metrics_busy.txt", "vllm")])
    assert gone is not None
    copy = Copy(Backend("flagship@a", "http://10.0.0.1:8000", "a", "flagship", "vllm", key=False))
    copy.take(Look("refused", "connection refused", 0.1), 1.0)
    traffic = Traffic({"10.0.0.1:8000": "flagship@a"})
    traffic.take('{"model":"flagship","status":200,"seconds":1,"upstream":"10.0.0.1:8000","header":"0.1"}')
    return [*own([copy], 2.0), *traffic.families(), *merge([*parts, gone])]


def test_what_floor_names_itself_is_without_a_finding() -> None:
    ours = [family for family in whole() if family.name.startswith("floor_") and ":" not in family.name]
    assert len(ours) > 30
    assert promtool(ours) == (0, [])


def test_the_whole_page_is_read_and_only_names_of_engines_are_complained_of() -> None:
    code, lines = promtool(whole())
    assert code != UNREADABLE
    assert [line for line in lines if not line.endswith(THEIRS)] == []
    assert all(":" in line.split()[0] for line in lines)


def test_the_checker_would_complain() -> None:
    assert promtool([Family("a b", family.kind, "x", family.children) for family in whole()[:1]])[0] == UNREADABLE
