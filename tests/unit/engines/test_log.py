from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.engines.log import Start, parse
from floor.sim import startlog
from floor.sim.arguments import parse as simulated

CASES_FOLDER = Path(__file__).parents[2] / "cases"
CASES: list[dict[str, Any]] = yaml.safe_load((CASES_FOLDER / "engines/start_logs.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_start_logs(case: dict[str, Any]) -> None:
    captured = case.get("captured")
    lines = (CASES_FOLDER / captured).read_text().splitlines() if captured else case["lines"]
    assert parse(lines) == Start(**case["tells"])


def test_a_log_is_read_from_any_iterable() -> None:
    assert parse(iter(["INFO Available KV cache memory: 1,024.50 GiB"])).available == 1024.5


def test_nothing_said_is_nothing_known() -> None:
    assert parse([]) == Start()


def test_the_simulated_engine_says_it_the_same_way() -> None:
    words = ["serve", "/models/x", "--max-model-len", "8192", "--sim-kv-tokens", "65536", "--sim-kv-gib", "24.5"]
    settings = simulated(words, {})
    told = parse([*startlog.before(settings), *startlog.measured(settings), *startlog.after(settings)])
    assert (told.tokens, told.context, told.concurrency, told.available) == (65536, 8192, 8.0, 24.5)
