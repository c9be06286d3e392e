"""How many tokens a cache holds: vLLM's own arithmetic of pages, groups and blocks.

From vllm/v1/core/kv_cache_utils.py and kv_cache_interface.py at 0.33.0, replayed against published start logs
(`tests/cases/layout/starts.yaml`). Figures of latent attention, Mamba 2 and sliding windows had no log to check.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from floor.errors import FloorError
from floor.layout.shape import Attention, Delta, Latent, Layer, Mamba, Mixer

BLOCK = 16  # tokens: vLLM's default
IN_FLIGHT = 8192  # tokens of one step: what vLLM batches by default on cards of this size
_SSM = 4  # bytes: a delta net's state is kept as float32
_PAD = 1.5  # groups take the size of the largest bucket where it is less than this times the smallest
ALIGN_HOLDS = 0.8  # of what is logged, with prefix caching on states that is aligned to blocks (the default)


@dataclass(frozen=True)
class Setting:
    """How an engine keeps its cache. `kv_bytes`: bytes of a value in it; `model_bytes`: of one of the model's.

    `tp`: cards that share a layer; `spec`: tokens drafted ahead; `align`: prefix caching of states is on.
    """

    kv_bytes: float = 2
    model_bytes: int = 2
    block: int = BLOCK
    tp: int = 1
    spec: int = 0
    align: bool = True
    in_flight: int = IN_FLIGHT


@dataclass(frozen=True)
class Group:
    """Layers that share a block table: of one kind, by their place among all that keep something.

    `block`: tokens of one of its blocks; `page`: bytes of one layer's part of it.
    """

    mixer: Mixer
    places: tuple[int, ...]
    block: int
    page: float

    def blocks(self, length: int, setting: Setting) -> int:
        """Given the tokens of a request, return how many blocks it takes in this group."""
        if isinstance(self.mixer, Delta | Mamba):
            return 1 + setting.spec + (1 if setting.align else 0)
        window = self.mixer.window if isinstance(self.mixer, Attention) else None
        if window is None:
            return math.ceil(length / self.block)
        return math.ceil(min(window - 1 + setting.in_flight, length) / self.block) + 1


@dataclass(frozen=True)
class Table:
    """The groups of a model under a setting: what a block of the cache is there."""

    setting: Setting
    groups: tuple[Group, ...]
    layers: int

    def bytes_per_block(self, start: int = 0, end: int | None = None) -> float:
        """Given a stretch of layers (default: all), return the bytes that one block takes on each of its cards."""
        inside = range(start, self.layers if end is None else end)
        held = [(group.page, sum(place in inside for place in group.places)) for group in self.groups]
        return max((page * count for page, count in held), default=0.0)

    def per_request(self, length: int) -> int:
        """Given the tokens of a request, return how many blocks it takes, over all groups."""
        return sum(group.blocks(length, self.setting) for group in self.groups)

    def at_once(self, blocks: int, length: int) -> float:
        """Given the blocks there are, return how many requests of that length fit at once, as vLLM logs it."""
        return blocks / self.per_request(length) if self.groups else math.inf

    def tokens(self, blocks: int, length: int) -> int:
        """Given the blocks there are, return the tokens that vLLM logs since 0.20.1: concurrency times length."""
        return int(self.at_once(blocks, length) * length)

    def tokens_before(self, blocks: int) -> int:
        """Given the blocks there are, return the tokens that vLLM logged up to 0.19."""
        attention = [group.block for group in self.groups if not isinstance(group.mixer, Delta | Mamba)]
        return blocks // max(1, len(self.groups)) * max(attention, default=self.setting.block)

    def longest(self, blocks: int, bound: int) -> int:
        """Given the blocks there are and the longest request allowed, return the longest one that fits alone."""
        if not self.groups or self.per_request(bound) <= blocks:
            return bound
        low, high = 0, bound  # low fits, high does not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.per_request(middle) <= blocks else (low, middle)
        return low if self.per_request(max(1, low)) <= blocks else 0

    @property
    def stateful(self) -> bool:
        """Whether some layers keep a state of fixed size."""
        return any(isinstance(group.mixer, Delta | Mamba) for group in self.groups)


def table(layers: Sequence[Layer], setting: Setting) -> Table:
    """Given the layers that an engine loads, drafts included, and its setting, return the groups of their cache.

    Raise FloorError where the pages of its kinds of layers cannot be made equal.
    """
    buckets: dict[Mixer, list[int]] = {}
    for place, layer in enumerate(layers):
        if layer.mixer is not None:
            buckets.setdefault(layer.mixer, []).append(place)
    if not buckets:
        return Table(setting, (), len(layers))
    per_token = {mixer: token_bytes(mixer, setting) for mixer in buckets if not isinstance(mixer, Delta | Mamba)}
    states = {mixer: state_bytes(mixer, setting) for mixer in buckets if isinstance(mixer, Delta | Mamba)}
    block, page = _page(per_token, states, setting)
    size = _group_size([len(places) for places in buckets.values()])
    groups: list[Group] = []
    for mixer, places in buckets.items():
        tokens = block if isinstance(mixer, Delta | Mamba) else int(page / per_token[mixer])
        many = math.ceil(len(places) / size)
        # every n-th layer, so that each stage of a pipeline has its part of every group
        groups += [Group(mixer, tuple(places[i::many]), tokens, page) for i in range(many)]
    return Table(setting, tuple(groups), len(layers))


def token_bytes(mixer: Attention | Latent, setting: Setting) -> float:
    """Given a layer that keeps something for each token, return those bytes on one card."""
    if isinstance(mixer, Latent):
        return (mixer.rank + mixer.rope) * setting.kv_bytes  # one latent, on every card
    heads = max(1, mixer.kv_heads // setting.tp)  # replicated where there are more cards than heads
    return heads * (mixer.head_dim + mixer.head_dim_v) * setting.kv_bytes


def state_bytes(mixer: Delta | Mamba, setting: Setting) -> int:
    """Given a layer that keeps a state, return its bytes for one request on one card."""
    ssm = _SSM
    if isinstance(mixer, Delta):
        convolved = 2 * mixer.k_dim * mixer.k_heads + mixer.v_dim * mixer.v_heads
        state = mixer.v_heads // setting.tp * mixer.v_dim * mixer.k_dim
    else:
        convolved = mixer.intermediate + 2 * mixer.groups * mixer.state
        state = mixer.heads // setting.tp * mixer.head_dim * mixer.state
        ssm = mixer.ssm_bytes
    return convolved // setting.tp * (mixer.kernel - 1 + setting.spec) * setting.model_bytes + state * ssm


def _page(
    per_token: dict[Attention | Latent, float], states: dict[Delta | Mamba, int], setting: Setting
) -> tuple[int, float]:
    """The tokens of a block of the largest kind and the bytes of every layer's page: one size for all groups."""
    if not per_token:
        return setting.block, float(max(states.values()))
    largest = max(per_token.values())
    if any(largest % size for size in per_token.values()):
        found = ", ".join(f"{size:g}" for size in sorted(set(per_token.values())))
        raise FloorError(f"layers that keep {found} bytes a token have no common page; vLLM refuses them, too")
    block = setting.block
    if states:
        block = 16 * math.ceil(max(states.values()) / (16 * largest))
    return block, block * largest


def _group_size(counts: Iterable[int]) -> int:
    found = list(counts)
    return max(found) if max(found) < _PAD * min(found) else min(found)
