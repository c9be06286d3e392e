"""How fast a backend is: time of one step of generation, and of reading a prompt.

Generation is bound by what a step reads, prompts by what they compute. A step of several requests reads the weights
once, each request's cache, and the experts that any of its tokens touches; what it computes beyond the first token
comes on top. One stream takes the sum over the stages; under load the slowest stage sets the pace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from floor.layout.cache import Setting, state_bytes, token_bytes
from floor.layout.cards import Card
from floor.layout.shape import Attention, Latent, Shape
from floor.layout.weights import Weights, read_bytes


@dataclass(frozen=True)
class Constants:
    """What the fit gave.

    `efficiency`: share of the bandwidth that is reached, and `fixed`: seconds a step, by the kind of memory. `reading`:
    share of the compute that prompts reach in dense models, in mixtures of experts, and in attention. `alike`: T tokens
    touch as many experts as T^alike that choose independently would. `hop`: seconds of one exchange between the cards
    of a layer that is shared, over a fabric and within a box; `handing`: seconds from one stage to the next, likewise.
    """

    efficiency: Mapping[str, float]
    fixed: Mapping[str, float]
    reading: tuple[float, float, float]
    alike: float
    hop: tuple[float, float]
    handing: tuple[float, float]


@dataclass(frozen=True)
class Stage:
    """Layers `start` to `end` on cards that share each of them. `across`: these cards stand in several boxes."""

    cards: tuple[Card, ...]
    start: int
    end: int
    across: bool = False


@dataclass(frozen=True)
class Load:
    """What a model is there: its shape, its weights, how its cache is kept. `drafts`: tokens drafted ahead, of which
    each is taken with the chance `taken`.
    """

    shape: Shape
    weights: Weights
    setting: Setting
    drafts: int = 0
    taken: float = 0.6

    @cached_property
    def mixture(self) -> bool:
        """Whether it is a mixture of experts."""
        return any(layer.experts for layer in self.shape.layers)

    @property
    def per_step(self) -> float:
        """Tokens that one step of one request gives."""
        return sum(self.taken**n for n in range(self.drafts + 1))


def step(load: Load, stage: Stage, requests: float, depth: float, constants: Constants) -> float:
    """Given a stage, how many requests run and how many tokens each has before it, return the seconds of one step."""
    shape, many = load.shape, len(stage.cards)
    slowest = min(stage.cards, key=lambda card: card.bandwidth)
    tokens = requests * (1 + load.drafts)
    read = read_bytes(load.weights, shape, tokens**constants.alike, stage.start, stage.end) / many
    read += requests * cached(load, stage, depth)
    moved = read / (slowest.bandwidth * constants.efficiency[slowest.kind])
    share = (stage.end - stage.start) / len(shape.layers)
    more = max(0.0, tokens - 1) * computed(load, stage, 1, depth, constants)
    return moved + more + constants.fixed[slowest.kind] * share + _hops(stage, constants)


def one_stream(load: Load, stages: Sequence[Stage], depth: float, constants: Constants, *, boxes: int = 1) -> float:
    """Given the stages of a backend and how many boxes it stands on, return tokens a second of a request alone."""
    spent = sum(step(load, stage, 1, depth, constants) for stage in stages)
    return load.per_step / (spent + _handing(stages, boxes, constants))


def together(
    load: Load, stages: Sequence[Stage], requests: int, depth: float, constants: Constants, *, boxes: int = 1
) -> float:
    """Given how many requests run at once, return the tokens a second of all of them.

    A pipeline works on as many parts of them as it has stages, each as fast as the slowest lets it.
    """
    parts = min(len(stages), requests)
    each = requests / parts
    times = [step(load, stage, each, depth, constants) for stage in stages]
    handing = _handing(stages, boxes, constants)
    round_trip = max(max(times) * parts, sum(times) + handing)
    return requests * load.per_step / round_trip


def reading(load: Load, stages: Sequence[Stage], tokens: int, constants: Constants, *, depth: int = 0) -> float:
    """Given the tokens of a prompt and those read before it, return the seconds until it is read."""
    return sum(computed(load, stage, tokens, depth + tokens / 2, constants) for stage in stages)


def computed(load: Load, stage: Stage, tokens: float, depth: float, constants: Constants) -> float:
    """Given tokens with so many before each, return the seconds that a stage computes for them."""
    dense, mixture, attending = constants.reading
    layers = load.shape.layers[stage.start : stage.end]
    plain = sum(layer.dense for layer in layers)
    experts = sum(layer.expert * layer.used for layer in layers)
    reach = mixture if load.mixture else dense
    attention = 0.0
    for layer in layers:
        if isinstance(layer.mixer, Attention):
            seen = min(depth, layer.mixer.window or depth)
            attention += 2 * load.shape.heads * (layer.mixer.head_dim + layer.mixer.head_dim_v) * seen
        elif isinstance(layer.mixer, Latent):
            attention += 2 * load.shape.heads * (2 * layer.mixer.rank + layer.mixer.rope) * depth
    power = sum(card.compute for card in stage.cards) or 1.0
    return tokens * (2 * (plain + experts) / reach + attention / attending) / power


def cached(load: Load, stage: Stage, depth: float) -> float:
    """Given how many tokens a request has, return the bytes of its cache that a step reads on one card of a stage."""
    found = 0.0
    for layer in load.shape.layers[stage.start : stage.end]:
        if isinstance(layer.mixer, Attention):
            found += token_bytes(layer.mixer, load.setting) * min(depth, layer.mixer.window or depth)
        elif isinstance(layer.mixer, Latent):
            found += token_bytes(layer.mixer, load.setting) * depth
        elif layer.mixer is not None:
            found += 2 * state_bytes(layer.mixer, load.setting)  # read and written
    return found


def _hops(stage: Stage, constants: Constants) -> float:
    if len(stage.cards) == 1:
        return 0.0
    fabric, inside = constants.hop
    return 2 * (stage.end - stage.start) * (fabric if stage.across else inside)


def _handing(stages: Sequence[Stage], boxes: int, constants: Constants) -> float:
    fabric, inside = constants.handing
    between = min(boxes - 1, len(stages) - 1)
    return between * fabric + (len(stages) - 1 - between) * inside
