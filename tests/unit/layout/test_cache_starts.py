"""The cache arithmetic gives what published start logs say, row by row of tests/cases/layout/starts.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.layout.cache import Setting, Table, table
from floor.layout.shape import Attention, Delta, Latent, Layer, Mamba, Mixer

ROWS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "layout" / "starts.yaml").read_text()
)
GIB = 2**30


def _layers(row: dict[str, Any]) -> list[Layer]:
    full: Mixer = Attention(row.get("kv_heads", 0), row.get("head_dim", 0), row.get("head_dim", 0))
    if "latent" in row:
        full = Latent(**row["latent"])
    kinds: dict[str, Mixer] = {"full": full}
    if "gdn" in row:
        kinds["gdn"] = Delta(**row["gdn"])
    if "mamba" in row:
        kinds["mamba"] = Mamba(**row["mamba"])
    if "window" in row:
        kinds["window"] = Attention(row["kv_heads"], row["head_dim"], row["head_dim"], row["window"])
    found = [Layer(kinds[name], 0) for name, many in row["layers"].items() for _ in range(many)]
    return found + [Layer(kinds["full"], 0)] * row.get("draft_full", 0)


def _table(row: dict[str, Any]) -> Table:
    setting = Setting(
        kv_bytes=row["kv_bytes"], tp=row.get("tp", 1), spec=row.get("spec", 0), in_flight=row.get("in_flight", 8192)
    )
    return table(_layers(row), setting)


def _blocks(row: dict[str, Any]) -> int:
    return int(row["avail_gib"] * GIB // _table(row).bytes_per_block())


def _slack(row: dict[str, Any]) -> float:
    """A share: GiB are logged with two decimals."""
    return float(row.get("tolerance", 0.005 / row["avail_gib"]))


WITH = {what: [row for row in ROWS if what in row] for what in ("tokens", "concurrency", "block", "max_length")}


def test_there_are_rows_of_everything() -> None:
    assert all(WITH.values())
    assert {row.get("meaning", "new") for row in WITH["tokens"]} == {"new", "old"}


@pytest.mark.parametrize("row", WITH["tokens"], ids=lambda row: row["id"])
def test_tokens_are_those_that_were_logged(row: dict[str, Any]) -> None:
    """Both meanings of the figure: by the release that logged it."""
    here, blocks = _table(row), _blocks(row)
    length = row.get("length", 32768)
    tokens = here.tokens_before(blocks) if row.get("meaning") == "old" else here.tokens(blocks, length)
    block = max(group.block for group in here.groups)
    # releases round a row's tokens to whole blocks of the engine's own, which may be larger than the default
    assert abs(tokens - row["tokens"]) <= row["tokens"] * _slack(row) + max(block, row.get("block", 0))


@pytest.mark.parametrize("row", WITH["concurrency"], ids=lambda row: row["id"])
def test_requests_at_once_are_those_that_were_logged(row: dict[str, Any]) -> None:
    at_once = _table(row).at_once(_blocks(row), row["length"])
    assert at_once == pytest.approx(row["concurrency"], abs=0.0051, rel=_slack(row) + 1 / _blocks(row))


@pytest.mark.parametrize(
    "row", [row for row in WITH["block"] if "gdn" in row or "mamba" in row], ids=lambda row: row["id"]
)
def test_blocks_of_a_hybrid_are_as_long_as_logged(row: dict[str, Any]) -> None:
    assert _table(row).groups[0].block == row["block"]


@pytest.mark.parametrize("row", WITH["max_length"], ids=lambda row: row["id"])
def test_the_longest_request_is_the_one_that_the_engine_proposed(row: dict[str, Any]) -> None:
    here = _table(row)
    needs = here.bytes_per_block() * here.per_request(row["length"]) / GIB
    assert needs == pytest.approx(row["needs_gib"], abs=0.0051)
    longest = here.longest(_blocks(row), row["length"])
    assert longest == pytest.approx(row["max_length"], rel=_slack(row), abs=16)
