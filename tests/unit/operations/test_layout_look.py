"""A box without a card, and an engine that was told how large its cache is: vLLM on the CPU, by its captured log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from floor.config import parse
from floor.engines import log
from floor.layout.fit import constants
from floor.layout.known import tokens
from floor.layout.layouts import find
from floor.layout.ledger import Books
from floor.operations import layout_look

LINES = (Path(__file__).parents[2] / "cases/vllm/start_log_lines.txt").read_text().splitlines()
TEXT = """\
boxes:
  boxa: {host: 192.0.2.11, keep_free: 1GiB}
models:
  flagship:
    source: /models/tiny
    context: 2048
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    args: {dtype: float32}
    env: {VLLM_CPU_KVCACHE_SPACE: "1"}
    replicas: [boxa]
proxy: {boxes: [boxa]}
"""
# the model that the log was captured of
TINY: dict[str, Any] = {
    "model_type": "qwen2", "vocab_size": 2000, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32768,
}  # fmt: skip
GIB = 2**30
BOX = {"memory": {"total": 24 * GIB, "available": 20 * GIB}, "gpus": []}


def test_the_cache_of_vllm_on_a_cpu_is_the_one_that_it_logged() -> None:
    config = parse(TEXT)
    copy = config.copies("flagship")[0]
    want = layout_look.model("flagship", {"config": TINY, "tensors": {}, "gguf": False}, "here")
    want = layout_look.configured(want, copy, critical=False)
    place = layout_look.place("boxa", config, BOX)
    assert [card.name for card in place.cards] == ["cpu"]
    assert place.cards[0].memory == 24 * GIB
    (backend,) = find(Books(want, constants()), [place]).layouts[0].backends
    logged = log.parse(LINES)
    assert backend.tokens == logged.tokens == 262_144
    assert layout_look.given(copy) == GIB
    assert tokens(Books(want, constants()).ledger(1), GIB, logged, 2048) == 262_144


def test_tokens_are_given_in_the_meaning_that_the_log_has() -> None:
    """Up to 0.19 a hybrid's tokens were those of its blocks, however many requests they are enough for."""
    from tests.unit.layout.fleets import want

    ledger = Books(want(kv_cache="fp8"), constants()).ledger(1)
    blocks = int(13.37 * GIB // ledger.per_block(0, ledger.layers))
    at_once = round(ledger.table.at_once(blocks, 262_144), 2)
    new, old = ledger.table.tokens(blocks, 262_144), ledger.table.tokens_before(blocks)
    assert new != old
    for meaning in (new, old):
        start = log.Start(available=13.37, tokens=meaning, concurrency=at_once, context=262_144)
        assert tokens(ledger, 13.37 * GIB, start, 262_144) == meaning


def test_a_box_that_holds_no_copy_gets_no_card() -> None:
    config = parse(TEXT.replace("  boxa:", "  proxy-box: {host: 192.0.2.12}\n  boxa:", 1))
    assert layout_look.place("proxy-box", config, BOX).cards == ()
