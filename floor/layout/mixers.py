"""What each layer of a model keeps for a request, from its config.json; and how many parameters that part has."""

from __future__ import annotations

from floor.errors import FloorError
from floor.layout.keys import Keys
from floor.layout.shape import Attention, Delta, Latent, Mamba, Mixer

# Names that model makers give to kinds of layers in `layer_types`.
_FULL = ("full_attention", "attention", "global_attention")
_WINDOW = ("sliding_attention", "local_attention")
_DELTA = ("linear_attention",)
_MAMBA = ("mamba", "mamba2")
# One letter a layer (Nemotron-H): attention, Mamba 2, and layers that only have a feed-forward part.
_LETTERS = {"*": "full_attention", "M": "mamba", "-": "mlp", "E": "mlp"}
# Every n-th layer looks at everything, the others at a window, where the config does not list it.
_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gpt_oss": 2, "cohere2": 4}
_ALL_WINDOW = ("mistral", "mixtral", "phi3", "starcoder2", "ministral")


def attention(keys: Keys, window: int | None = None) -> Attention:
    """Given a config, return its attention."""
    heads = keys.some("num_attention_heads", "n_head")
    size = keys.some("head_dim", "attention_head_dim", otherwise=keys.some("hidden_size", "n_embd") // heads)
    kv_heads = 1 if keys.flag("multi_query") else keys.some("num_key_value_heads", "n_head_kv", otherwise=heads)
    return Attention(kv_heads, size, keys.some("v_head_dim", otherwise=size), window)


def latent(keys: Keys) -> Latent:
    """Given a config, return its latent attention. Raise FloorError where an indexer keeps something beside it."""
    if keys.has("index_topk"):
        raise FloorError(
            f"{keys.where}: found attention with an indexer (index_topk), a kind of layer that is not known"
        )
    return Latent(keys.some("kv_lora_rank"), keys.some("qk_rope_head_dim"))


def delta(keys: Keys) -> Delta:
    """Given a config, return its gated delta net."""
    names = ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim", "conv_kernel_dim")
    return Delta(*(keys.some(f"linear_{name}") for name in names))


def mamba(keys: Keys) -> Mamba:
    """Given a config, return its Mamba 2."""
    heads = keys.some("mamba_num_heads", "mamba_n_heads")
    size = keys.some("mamba_head_dim", "mamba_d_head")
    kept = 2 if str(keys.values.get("mamba_ssm_cache_dtype")) in ("bfloat16", "float16") else 4
    return Mamba(
        intermediate=heads * size,
        groups=keys.some("n_groups", "mamba_n_groups"),
        state=keys.some("ssm_state_size", "mamba_d_state"),
        heads=heads,
        head_dim=size,
        kernel=keys.some("conv_kernel", "mamba_d_conv"),
        ssm_bytes=kept,
    )


def of_layers(keys: Keys) -> list[Mixer | None]:
    """Given a config, return what each of its layers keeps. Raise FloorError, with its name, for an unknown kind."""
    return [_mixer(keys, name) for name in names(keys)]


def names(keys: Keys) -> list[str]:
    """Given a config, return the kind of each of its layers, by the makers' names. Raise FloorError where unclear."""
    if letters := keys.values.get("hybrid_override_pattern"):
        unknown = sorted(set(str(letters)) - set(_LETTERS))
        if unknown:
            raise FloorError(
                f"{keys.where}: found {unknown[0]!r} in hybrid_override_pattern, a layer that is not known"
            )
        keys.bounded(len(str(letters)))
        return [_LETTERS[letter] for letter in str(letters)]
    many = keys.layers
    for key in ("layer_types", "layers_block_type"):
        listed = keys.texts(key)
        if listed is not None:
            if len(listed) < many:
                raise FloorError(f"{keys.where}: found {len(listed)} {key} for {many} layers")
            return listed[:many]
    if kinds := keys.items("attn_type_list"):
        keys.bounded(len(kinds))
        return ["full_attention" if kind == 1 else "lightning_attention" for kind in kinds][:many]
    if every := keys.whole("full_attention_interval", otherwise=0):
        return ["full_attention" if (i + 1) % every == 0 else "linear_attention" for i in range(many)]
    if keys.has("sliding_window") and keys.values.get("use_sliding_window") is not False:
        return _windows(keys, many)
    return ["full_attention"] * many


def parameters(keys: Keys, mixer: Mixer | None) -> int:
    """Given a config and what a layer keeps, return the parameters of that part of the layer (norms left out)."""
    hidden = keys.whole("hidden_size", "n_embd")
    if isinstance(mixer, Attention):
        heads = keys.whole("num_attention_heads", "n_head")
        queries = heads * mixer.head_dim
        gates = queries if keys.flag("attn_output_gate", keys.family.startswith("qwen3_next")) else 0
        return hidden * (
            queries + gates + mixer.kv_heads * (mixer.head_dim + mixer.head_dim_v) + heads * mixer.head_dim_v
        )
    if isinstance(mixer, Latent):
        return _latent_parameters(keys, mixer, hidden)
    if isinstance(mixer, Delta):
        key, value = mixer.k_dim * mixer.k_heads, mixer.v_dim * mixer.v_heads
        return hidden * (2 * key + 2 * value + 2 * mixer.v_heads) + value * hidden + (2 * key + value) * mixer.kernel
    if isinstance(mixer, Mamba):
        convolved = mixer.intermediate + 2 * mixer.groups * mixer.state
        return hidden * (mixer.intermediate + convolved + mixer.heads) + mixer.intermediate * hidden
    return 0


def _latent_parameters(keys: Keys, mixer: Latent, hidden: int) -> int:
    heads = keys.whole("num_attention_heads")
    nope, value = keys.whole("qk_nope_head_dim"), keys.whole("v_head_dim")
    queries = heads * (nope + mixer.rope)
    rank = keys.whole("q_lora_rank", otherwise=0)
    asked = hidden * rank + rank * queries if rank else hidden * queries
    return asked + hidden * (mixer.rank + mixer.rope) + mixer.rank * heads * (nope + value) + heads * value * hidden


def _mixer(keys: Keys, name: str) -> Mixer | None:
    if name in _FULL:
        return latent(keys) if keys.has("kv_lora_rank") else attention(keys)
    if name in _WINDOW:
        return attention(keys, keys.whole("sliding_window"))
    if name in _DELTA and keys.has("linear_num_value_heads"):
        return delta(keys)
    if name in _MAMBA and (keys.has("mamba_num_heads") or keys.has("mamba_n_heads")):
        return mamba(keys)
    if name in ("mlp", "moe"):
        return None
    raise FloorError(
        f"{keys.where}: found layers of the kind {name!r}, which is not known; no layout is guessed for it"
    )


def _windows(keys: Keys, many: int) -> list[str]:
    if keys.family in _ALL_WINDOW:
        return ["sliding_attention"] * many
    every = keys.whole("sliding_window_pattern", otherwise=_EVERY.get(keys.family, 0))
    if not every:
        raise FloorError(
            f"{keys.where}: found a sliding_window, and nothing says which layers of {keys.family} have it"
        )
    return ["full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(many)]
