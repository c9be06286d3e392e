"""Shapes of published models have as many parameters as their makers say; what is not known is refused by its name."""

from __future__ import annotations

from typing import Any

import pytest

from floor.errors import FloorError
from floor.layout.architecture import shape
from floor.layout.cache import Setting, table
from floor.layout.shape import Attention, Delta, Latent, Mamba
from tests.unit.layout.models import config, published

# What the makers say, in 10^9: all, and those that a token reads where they say it.
MAKERS = [
    ("gpt-oss-120b", 116.83, 5.13),
    ("gpt-oss-20b", 20.91, 3.61),
    ("qwen3-coder-30b", 30.53, 3.3),
    ("qwen3-235b", 235.1, 22.0),
    ("llama-3.3-70b", 70.55, None),
    ("llama-3.1-8b", 8.03, None),
    ("qwen2.5-7b", 7.62, None),
    ("gemma-3-4b", 3.88, None),
    ("qwen3.5-122b", 122.0, 10.0),
    ("deepseek-v3", 671.0, 37.0),
    ("nemotron-nano-9b-v2", 8.89, None),
    ("minimax-m2", 228.7, 10.0),
    ("bge-large", 0.335, None),
    ("qwen3-embedding-0.6b", 0.596, None),
]


@pytest.mark.parametrize(("name", "billions", "active"), MAKERS, ids=lambda value: str(value))
def test_parameters_are_those_that_the_makers_state(name: str, billions: float, active: float | None) -> None:
    found = published(name)
    assert found.parameters / 1e9 == pytest.approx(billions, rel=0.04)
    if active is not None:
        assert found.active / 1e9 == pytest.approx(active, rel=0.11)  # makers round, and count the tables differently


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("gpt-oss-120b", ["sliding window", "attention"]),
        ("gemma-3-4b", ["sliding window", "attention"]),
        ("qwen3.5-122b", ["gated delta net", "attention"]),
        ("deepseek-v3", ["latent attention"]),
        ("nemotron-nano-9b-v2", ["Mamba 2", "feed-forward", "attention"]),
        ("minimax-m2", ["attention"]),
        ("bge-large", ["feed-forward"]),
    ],
)
def test_kinds_of_layers_are_told_apart(name: str, kinds: list[str]) -> None:
    assert list(published(name).kinds()) == kinds


def test_what_layers_keep_is_read_from_the_config() -> None:
    mixers = {layer.mixer for layer in published("qwen3.5-122b").layers}
    assert mixers == {Attention(2, 256, 256), Delta(16, 64, 128, 128, 4)}
    assert {layer.mixer for layer in published("deepseek-v3").layers} == {Latent(512, 64)}
    assert Mamba(10240, 8, 128, 128, 80, 4) in {layer.mixer for layer in published("nemotron-nano-9b-v2").layers}
    windows = [layer.mixer for layer in published("gemma-3-4b").layers]
    assert [place for place, mixer in enumerate(windows) if mixer == Attention(4, 256, 256)] == [5, 11, 17, 23, 29]


def test_drafts_are_layers_of_their_own_with_full_attention() -> None:
    found = published("qwen3.5-122b")
    assert [layer.mixer for layer in found.drafts] == [Attention(2, 256, 256)]
    assert not published("qwen3-coder-30b").drafts
    assert len(published("deepseek-v3").drafts) == 1


def test_an_encoder_keeps_nothing() -> None:
    found = published("bge-large")
    assert not found.causal
    here = table(found.layers, Setting())
    assert here.groups == ()
    assert here.longest(0, 512) == 512


def _changed(name: str, **changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**config(name), **changes}.items() if value != "gone"}


UNKNOWN = [
    ({"model_type": "sorcery"}, "found model_type 'sorcery', which is not known; no layout is guessed for it"),
    ({"model_type": "gone"}, "found None for model_type; without it the layout cannot be computed"),
    (
        {"layer_types": ["full_attention"] * 47 + ["chunked_attention"]},
        "found layers of the kind 'chunked_attention', which is not known; no layout is guessed for it",
    ),
    ({"layer_types": ["full_attention"] * 3}, "found 3 layer_types for 48 layers"),
    ({"hybrid_override_pattern": "M*X"}, "found 'X' in hybrid_override_pattern, a layer that is not known"),
    ({"attn_type_list": [1, 0] * 24}, "found layers of the kind 'lightning_attention', which is not known"),
    (
        {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_topk": 2048},
        "found attention with an indexer (index_topk), a kind of layer that is not known",
    ),
    (
        {"sliding_window": 4096, "use_sliding_window": True},
        "found a sliding_window, and nothing says which layers of qwen3_moe have it",
    ),
    ({"num_attention_heads": "many"}, "found 'many' for num_attention_heads; it is to be a whole number"),
    ({"num_attention_heads": "gone"}, "found none of num_attention_heads, n_head"),
    ({"num_experts": [64, 128]}, "found num_experts that differs between layers; this is not known"),
    ({"layer_types": ["linear_attention"] * 48}, "found layers of the kind 'linear_attention', which is not known"),
]


@pytest.mark.parametrize(
    ("changes", "says"), UNKNOWN, ids=lambda value: "".join(value) if isinstance(value, dict) else ""
)
def test_what_is_not_known_is_refused_by_its_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(FloorError) as caught:
        shape(_changed("qwen3-coder-30b", **changes), "/models/x/config.json")
    assert str(caught.value).startswith("/models/x/config.json: ")
    assert says in str(caught.value)


DAMAGED = [
    ("qwen3-coder-30b", "num_hidden_layers", 10**9, "found 1000000000 layers; it is to be 1 to 1000"),
    ("qwen3-coder-30b", "num_hidden_layers", 0, "found 0 layers; it is to be 1 to 1000"),
    ("qwen3-coder-30b", "num_attention_heads", 0, "found 0 for num_attention_heads or n_head"),
    ("qwen3-coder-30b", "hidden_size", 10**30, "for hidden_size; it is to be a whole number"),
    ("qwen3-coder-30b", "head_dim", 0, "found 0 for head_dim or attention_head_dim"),
    ("qwen3-coder-30b", "mlp_only_layers", 7, "found 7 for mlp_only_layers; it is to be a list"),
    ("qwen3-coder-30b", "num_experts_per_tok", 129, "found 129 experts that a token uses, of 128"),
    ("deepseek-v3", "kv_lora_rank", 0, "found 0 for kv_lora_rank"),
    ("minimax-m2", "attn_type_list", 7, "found 7 for attn_type_list; it is to be a list"),
    ("minimax-m2", "attn_type_list", [1] * 2000, "found 2000 layers; it is to be 1 to 1000"),
]


@pytest.mark.parametrize(("name", "key", "value", "says"), DAMAGED)
def test_a_number_that_no_model_has_is_named(name: str, key: str, value: Any, says: str) -> None:
    with pytest.raises(FloorError) as caught:
        shape({**config(name), key: value}, "config.json")
    assert says in str(caught.value)


def test_drafts_are_never_more_than_layers() -> None:
    many = shape({**config("deepseek-v3"), "num_nextn_predict_layers": 10**9}, "config.json")
    assert len(many.drafts) == len(many.layers)
