"""From a model's config.json to its shape. A family or a kind of layer that is not known is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floor.errors import FloorError
from floor.layout import mixers
from floor.layout.keys import Keys, language
from floor.layout.shape import Layer, Mixer, Shape

# model_type of configs whose keys these modules read rightly. An unlisted one may mean something else by the same keys.
_DENSE = """
    llama mistral mistral3 ministral3 qwen2 qwen3 qwen2_5_vl qwen2_5_vl_text qwen3_vl qwen3_vl_text phi3 granite olmo2
    olmo3 glm4 smollm3 gemma gemma2 gemma3 gemma3_text cohere2 starcoder2 seed_oss exaone4 internlm2 gpt_bigcode
"""
_MIXTURES = """
    mixtral qwen2_moe qwen3_moe qwen3_vl_moe qwen3_vl_moe_text gpt_oss minimax_m2 glm4_moe olmoe granitemoe
    deepseek_v2 deepseek_v3 kimi_k2 glm4_moe_lite
"""
_HYBRIDS = "qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text nemotron_h bamba granitemoehybrid"
DECODERS = frozenset(f"{_DENSE} {_MIXTURES} {_HYBRIDS}".split())
ENCODERS = frozenset({"bert", "roberta", "xlm-roberta", "mpnet", "modernbert"})
_PLAIN_MLP = ("nemotron_h", "starcoder2", "gpt_bigcode", *sorted(ENCODERS))  # two matrices; the others have a gate
_DRAFTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")


def shape(values: Mapping[str, Any], where: str = "config.json") -> Shape:
    """Given a config.json's values and its name for errors, return the model's shape.

    Raise FloorError, naming it, for a family, a kind of layer or a value that is not known.
    """
    keys = language(values, where)
    family = keys.family
    if family not in DECODERS | ENCODERS:
        raise FloorError(f"{keys.where}: found model_type {family!r}, which is not known; no layout is guessed for it")
    causal = family in DECODERS
    hidden = keys.some("hidden_size", "n_embd", "dim")
    kept: list[Mixer | None] = list(mixers.of_layers(keys)) if causal else [mixers.attention(keys)] * _many(keys)
    layers = tuple(_layer(keys, place, mixer) for place, mixer in enumerate(kept))
    drafts = _drafts(keys, layers)
    return Shape(
        family=family,
        layers=layers if causal else tuple(Layer(None, layer.dense) for layer in layers),
        drafts=drafts,
        hidden=hidden,
        heads=keys.some("num_attention_heads", "n_head", "n_heads"),
        embedding=keys.some("vocab_size") * hidden,
        tied=keys.flag("tie_word_embeddings", family.startswith(("gemma", "cohere"))) or not causal,
        context=keys.whole("max_position_embeddings", "n_positions", "model_max_length", otherwise=0) or None,
        causal=causal,
    )


def _many(keys: Keys) -> int:
    return keys.layers


def _drafts(keys: Keys, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Layers that draft: attention at full length and the feed-forward part of the last layer, and what joins them."""
    many = min(keys.whole(*_DRAFTS, otherwise=0), len(layers))
    whole = [layer for layer in layers if layer.mixer == mixers.of_layers(keys)[_last_full(keys)]] if many else []
    if not whole:
        return ()
    last = whole[-1]
    joins = 2 * keys.whole("hidden_size") ** 2
    return (Layer(last.mixer, last.dense + joins, last.expert, last.experts, last.used),) * many


def _last_full(keys: Keys) -> int:
    found = mixers.names(keys)
    full = [place for place, name in enumerate(found) if "full" in name or name == "attention"]
    return full[-1] if full else len(found) - 1


def _layer(keys: Keys, place: int, mixer: Mixer | None) -> Layer:
    kept = mixers.parameters(keys, mixer)
    if keys.values.get("hybrid_override_pattern"):  # one part a layer
        letter = str(keys.values["hybrid_override_pattern"])[place]
        if letter not in "-E":
            return Layer(mixer, kept)
        return _experts(keys, mixer, 0) if letter == "E" else Layer(mixer, _plain(keys, "intermediate_size"))
    if not _has_experts(keys, place):
        names = ("intermediate_size_mlp", "intermediate_size", "ffn_dim", "hidden_dim", "n_inner")
        return Layer(mixer, kept + _plain(keys, *names))
    return _experts(keys, mixer, kept)


def _has_experts(keys: Keys, place: int) -> bool:
    if not _many_experts(keys):
        return False
    only_dense = keys.items("mlp_only_layers")
    step = keys.whole("decoder_sparse_step", "moe_layer_freq", otherwise=1) or 1
    listed = keys.texts("mlp_layer_types")
    if listed is not None:
        return listed[place] != "dense"
    first = keys.whole("first_k_dense_replace", otherwise=0)
    return place >= first and place not in only_dense and (place + 1) % step == 0


def _many_experts(keys: Keys) -> int:
    return keys.whole("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", otherwise=0)


def _experts(keys: Keys, mixer: Mixer | None, dense: int) -> Layer:
    hidden, many = keys.whole("hidden_size"), _many_experts(keys)
    inner = keys.whole("moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
    factor = _matrices(keys)
    shared = keys.whole(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        otherwise=keys.whole("n_shared_experts", otherwise=0) * inner,
    )
    router = hidden * many
    used = keys.some("num_experts_per_tok", "moe_topk", "num_experts_per_token")
    if used > many:
        raise FloorError(f"{keys.where}: found {used} experts that a token uses, of {many}")
    return Layer(mixer, dense + router + factor * hidden * shared, factor * hidden * inner, many, used)


def _plain(keys: Keys, *names: str) -> int:
    hidden = keys.whole("hidden_size", "n_embd", "dim")
    return _matrices(keys) * hidden * keys.whole(*names, otherwise=4 * hidden)


def _matrices(keys: Keys) -> int:
    return 2 if keys.family in _PLAIN_MLP else 3
