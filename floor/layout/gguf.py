"""From the table of values in a GGUF file to what config.json would say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floor.errors import FloorError
from floor.layout.keys import Keys

# general.architecture -> model_type
_FAMILIES = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "qwen2moe": "qwen2_moe", "qwen3moe": "qwen3_moe",
    "gpt-oss": "gpt_oss", "gemma": "gemma", "gemma2": "gemma2", "gemma3": "gemma3", "deepseek2": "deepseek_v3",
    "glm4": "glm4", "glm4moe": "glm4_moe", "minimax-m2": "minimax_m2", "phi3": "phi3", "olmo2": "olmo2",
    "granite": "granite", "qwen3next": "qwen3_next", "qwen35": "qwen3_5", "qwen35moe": "qwen3_5_moe",
    "mistral3": "mistral3", "bert": "bert", "qwen3vl": "qwen3_vl", "qwen3vlmoe": "qwen3_vl_moe",
}  # fmt: skip
# key of the table, without the architecture before it -> key of config.json
_KEYS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.value_length": "v_head_dim",
    "attention.sliding_window": "sliding_window",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "leading_dense_block_count": "first_k_dense_replace",
    "nextn_predict_layers": "num_nextn_predict_layers",
    "full_attention_interval": "full_attention_interval",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.q_lora_rank": "q_lora_rank",
}
_DEFAULT_INTERVAL = 4  # of Qwen3-Next and Qwen3.5, where the table does not say


def config(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Given a GGUF file's table of values, with what `floor.box.headers` adds of its tensors (`floor.vocabulary`, and
    `floor.head`: whether the output has a table of its own), and its name, return it as config.json has it.

    Raise FloorError, naming it, for an architecture that is not known.
    """
    architecture = str(table.get("general.architecture", ""))
    if architecture not in _FAMILIES:
        raise FloorError(
            f"{where}: found architecture {architecture!r}, which is not known; no layout is guessed for it"
        )
    own = {key.removeprefix(f"{architecture}."): value for key, value in table.items()}
    found = {name: _plain(own[key], where, key) for key, name in _KEYS.items() if key in own}
    found["model_type"] = _FAMILIES[architecture]
    found["vocab_size"] = table.get("floor.vocabulary") or own.get("vocab_size")
    found["tie_word_embeddings"] = not table.get("floor.head", True)
    if architecture in ("qwen2", "qwen3", "llama"):
        found.pop("sliding_window", None)
    keys = Keys(own, where)
    if drafts := keys.whole("nextn_predict_layers", otherwise=0):
        found["num_hidden_layers"] = max(0, keys.whole("block_count") - drafts)  # it counts them, too
    if "kv_lora_rank" in found:
        _latent(keys, found)
    if "ssm.state_size" in own:
        _delta(keys, found)
    return found


def _plain(value: Any, where: str, key: str) -> Any:
    """A number, or the one number of a list that is the same for all layers that have any."""
    if not isinstance(value, list):
        return value
    kinds = {one for one in value if one}
    if len(kinds) != 1:
        raise FloorError(f"{where}: found {key} that differs between layers; this is not known")
    return kinds.pop()


def _latent(keys: Keys, found: dict[str, Any]) -> None:
    """The table gives the compressed widths as key and value length, and the heads' own ones as `_mla`."""
    rope = keys.some("rope.dimension_count")
    found["qk_rope_head_dim"] = rope
    found["qk_nope_head_dim"] = keys.some("attention.key_length_mla", "attention.key_length") - rope
    found["v_head_dim"] = keys.some("attention.value_length_mla", "attention.value_length")
    found.pop("head_dim", None)


def _delta(keys: Keys, found: dict[str, Any]) -> None:
    heads = keys.some("ssm.time_step_rank")
    found["linear_num_value_heads"] = heads
    found["linear_value_head_dim"] = keys.some("ssm.inner_size") // heads
    found["linear_num_key_heads"] = keys.some("ssm.group_count")
    found["linear_key_head_dim"] = keys.some("ssm.state_size")
    found["linear_conv_kernel_dim"] = keys.some("ssm.conv_kernel")
    found.setdefault("full_attention_interval", _DEFAULT_INTERVAL)
