from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from floor.engines.serve import Ranks
from floor.engines.vllm import Serve, arguments, flag
from floor.sim.arguments import parse

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases/engines/flags.yaml").read_text(encoding="utf-8")
)
PLAIN = Serve("/models/flagship", "flagship", "192.0.2.11", 8000)
FULL = replace(
    PLAIN,
    context=262144,
    max_requests=12,
    kv_cache="fp8",
    utilization=0.74,
    cache_memory=40 * 2**30,
    drain=1810,
    args={"speculative-config": {"method": "mtp"}, "dtype": "auto"},
)


@pytest.mark.parametrize("case", CASES, ids=[f"{case['flag']}-{case['value']}"[:60] for case in CASES])
def test_flags(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValueError, match=f"^{re.escape(case['error'])}$"):
            flag(case["flag"], case["value"])
    else:
        assert flag(case["flag"], case["value"]) == case["words"]


def test_what_is_not_said_is_left_to_the_engine() -> None:
    assert arguments(PLAIN) == [
        *("serve", "/models/flagship", "--served-model-name", "flagship", "--host", "192.0.2.11", "--port", "8000"),
        "--disable-uvicorn-access-log",
    ]


def test_everything_that_can_be_said() -> None:
    assert arguments(FULL) == [
        *("serve", "/models/flagship", "--served-model-name", "flagship", "--host", "192.0.2.11", "--port", "8000"),
        *("--max-model-len", "262144", "--max-num-seqs", "12", "--kv-cache-dtype", "fp8"),
        *("--gpu-memory-utilization", "0.74", "--kv-cache-memory-bytes", "42949672960", "--shutdown-timeout", "1810"),
        "--disable-uvicorn-access-log",
        *("--dtype", "auto", "--speculative-config", '{"method":"mtp"}'),
    ]


def test_a_timeout_is_whole_seconds() -> None:
    assert "--shutdown-timeout 3" in " ".join(arguments(replace(PLAIN, drain=2.1)))


def test_an_address_of_ipv6_has_no_brackets_here() -> None:
    assert "fd00::2" in arguments(replace(PLAIN, host="fd00::2"))


def test_a_default_can_be_taken_back() -> None:
    words = arguments(replace(PLAIN, args={"disable-uvicorn-access-log": False}))
    assert words[-1] == "--no-disable-uvicorn-access-log"


@given(st.permutations([*FULL.args.items(), ("seed", 1), ("enforce-eager", True)]))
def test_the_order_of_lines_in_a_file_changes_nothing(items: list[tuple[str, Any]]) -> None:
    given_order, sorted_order = replace(FULL, args=dict(items)), replace(FULL, args=dict(sorted(items)))
    assert arguments(given_order) == arguments(sorted_order)


def test_the_simulated_engine_understands_it() -> None:
    settings = parse(arguments(FULL), {})
    assert (settings.host, settings.port, settings.served_names) == ("192.0.2.11", 8000, ("flagship",))
    assert (settings.max_model_len, settings.max_num_seqs, settings.access_log) == (262144, 12, False)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_part_of_a_group(rank: int) -> None:
    """As a simulated rank reads it, too."""
    ranks = Ranks(rank, 2, "198.51.100.1", 29501, tensor=2, stages=1)
    words = arguments(replace(FULL, ranks=ranks))
    at = words.index("--tensor-parallel-size")
    told = "--tensor-parallel-size 2 --pipeline-parallel-size 1 --nnodes 2 --node-rank {} --master-addr 198.51.100.1 "
    assert " ".join(words[at : at + 12]) == told.format(rank) + "--master-port 29501"
    assert ("--headless" in words, "--host" in words) == (rank == 1, rank == 0)
    assert parse(words, {}).headless is (rank == 1)
