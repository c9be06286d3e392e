"""Boxes and models that layouts are found for: the factory floor's two boxes, and others."""

from __future__ import annotations

import functools
from typing import Any

from floor.layout import weights
from floor.layout.architecture import shape
from floor.layout.cards import GIB, named
from floor.layout.fleet import Place, Want
from floor.layout.shape import Shape

# A hybrid with drafts whose cache of bf16 is 499,110 tokens in what one box has left, and whose weights in 4 bits take
# 71 GiB: 10 layers of attention among 100, as few heads as its makers' later models have.
FLAGSHIP: dict[str, Any] = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        "model_type": "qwen3_5_moe_text", "hidden_size": 2560, "moe_intermediate_size": 640,
        "shared_expert_intermediate_size": 640, "num_hidden_layers": 100, "num_attention_heads": 32,
        "num_key_value_heads": 2, "head_dim": 256, "num_experts": 256, "num_experts_per_tok": 8, "vocab_size": 151936,
        "max_position_embeddings": 262144, "full_attention_interval": 10, "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 64,
        "linear_value_head_dim": 128, "attn_output_gate": True, "mtp_num_hidden_layers": 1,
    },
}  # fmt: skip
LEFT = 15.17  # GiB that one box had for the cache
WEIGHTS = 71 * GIB


@functools.cache
def flagship() -> Shape:
    """The factory floor's model."""
    return shape(FLAGSHIP)


def want(**changes: Any) -> Want:
    """The factory floor's model as its owners run it: fp8 cache, four drafts, a cap of 12, two full requests."""
    built = weights.scaled(weights.computed(flagship(), 4.5), WEIGHTS)
    usual: dict[str, Any] = {"context": 262_144, "at_once": 2, "cap": 12, "kv_cache": "fp8", "drafts": 4}
    return Want("flagship", flagship(), built, **{**usual, **changes})


def sparks() -> list[Place]:
    """The factory floor: two GB10, on one of which databases run. What else runs on the other is not known: 17 GiB give
    it the 1.08 million tokens that its owners had."""
    gb10 = named("gb10")
    return [
        Place("spark-a", (gb10,), others=17 * GIB),
        Place("spark-b", (gb10,), others=22 * GIB, keep_free=9.5 * GIB),
    ]
