"""A model as far as its memory and its speed go: layers, what each keeps for a request, and how many parameters it has.

Parameters are counted in numbers, not in bytes: how many bytes each takes is the build's (`floor.layout.weights`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Attention:
    """Keys and values of each token: multi-head, grouped or multi-query. `window`: tokens that it looks back."""

    kv_heads: int
    head_dim: int
    head_dim_v: int
    window: int | None = None


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention: one compressed vector and one rotary key of each token, whatever the heads."""

    rank: int
    rope: int


@dataclass(frozen=True)
class Delta:
    """A gated delta net: a state of fixed size for each request, and the inputs of a short convolution."""

    k_heads: int
    v_heads: int
    k_dim: int
    v_dim: int
    kernel: int


@dataclass(frozen=True)
class Mamba:
    """Mamba 2: a state of fixed size for each request, and the inputs of a short convolution."""

    intermediate: int
    groups: int
    state: int
    heads: int
    head_dim: int
    kernel: int
    ssm_bytes: int = 4  # of a value of the state: float32 unless the model's config says otherwise


Mixer = Attention | Latent | Delta | Mamba


@dataclass(frozen=True)
class Layer:
    """One layer. `mixer` is None where it keeps nothing for a request (a layer that only has a feed-forward part).

    `dense` parameters are read for every token; of `experts` with `expert` parameters each, `used` are.
    """

    mixer: Mixer | None
    dense: int
    expert: int = 0
    experts: int = 0
    used: int = 0

    @property
    def parameters(self) -> int:
        """All of its parameters."""
        return self.dense + self.expert * self.experts


@dataclass(frozen=True)
class Shape:
    """A model's layers. `drafts` predict further tokens (MTP), and are loaded only by an engine that is told to.

    `embedding`: parameters of the table of words; `tied`: the output uses it, too. `context` is
    the longest request that the model allows, None where it does not say. `heads` of attention bound how it can be
    split by tensor. `causal` is false for encoders, which keep nothing between tokens.
    """

    family: str
    layers: tuple[Layer, ...]
    drafts: tuple[Layer, ...]
    hidden: int
    heads: int
    embedding: int
    tied: bool
    context: int | None
    causal: bool = True

    @property
    def parameters(self) -> int:
        """Parameters of the whole model without drafts."""
        return sum(layer.parameters for layer in self.layers) + self.embedding * (1 if self.tied else 2)

    @property
    def active(self) -> int:
        """Parameters that one token reads: its experts and the output's table, not the table of words at the input."""
        return sum(layer.dense + layer.expert * layer.used for layer in self.layers) + self.embedding

    def kinds(self) -> Iterator[str]:
        """Yield the kinds of its layers, each once, in words."""
        for mixer in dict.fromkeys(layer.mixer for layer in self.layers):
            yield kind(mixer)


def kind(mixer: Mixer | None) -> str:
    """Given what a layer keeps, return its kind in words."""
    match mixer:
        case None:
            return "feed-forward"
        case Latent():
            return "latent attention"
        case Delta():
            return "gated delta net"
        case Mamba():
            return "Mamba 2"
        case Attention(window=None):
            return "attention"
    return "sliding window"
