"""Boxes and models as a layout sees them: what is there, what is asked for. Bytes, tokens, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from floor.engines.share import rounded
from floor.layout.cache import BLOCK, IN_FLIGHT, Setting
from floor.layout.calibrated import Speeds
from floor.layout.cards import Card
from floor.layout.shape import Shape
from floor.layout.speed import Load
from floor.layout.weights import Weights
from floor.sizes import GIB

MEASURED, COMPUTED, ASSUMED, UNVERIFIED = "measured", "computed", "assumed", "unverified"
KEEP_FREE = 8 * GIB
_MOST_UNIFIED = 0.85  # what people settle on where CPU and GPU share their memory; 0.90 freezes boxes
_MOST = 0.90
_BLIND = 3 * GIB  # vLLM sees 2.6 to 2.7 GiB less than is free on a box whose memory is shared
_KV_BYTES = {"auto": 2.0, "bf16": 2.0, "bfloat16": 2.0, "f16": 2.0, "float16": 2.0, "f32": 4.0}
_GGML = {"q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32, "q4_1": 20 / 32, "q4_0": 18 / 32, "iq4_nl": 18 / 32}


@dataclass(frozen=True)
class Place:
    """A box: its cards, bytes that `others` take there, `keep_free` beyond them. `utilization`: a share that is fixed.

    `linked`: it has a fabric to other boxes that have one. `origin`: where memory and cards are known from.
    """

    name: str
    cards: tuple[Card, ...]
    others: float = 0.0
    keep_free: float = KEEP_FREE
    utilization: float | None = None
    linked: bool = True
    origin: str = ASSUMED

    @property
    def unified(self) -> bool:
        """Whether its cards share the memory of the machine."""
        return any(card.unified for card in self.cards)

    def share(self, card: Card) -> float:
        """Given one of its cards, return the largest share of its memory that an engine may be given.

        floor to two places of min(most, (total - others - keep_free) / total): what else runs there stays as it is.
        """
        if self.utilization is not None:
            return self.utilization
        if not card.unified:
            return _MOST
        left = (card.memory - self.others - card.taken - self.keep_free) / card.memory
        most = _MOST_UNIFIED - card.taken / card.memory
        if card.taken:  # beside another engine each gets its cache in bytes: rounding would lose 1% for each
            return max(0.0, min(most, left))
        return max(0.0, rounded(min(most, left)))

    def usable(self, card: Card) -> float:
        """Given one of its cards, return the bytes that an engine on it gets in all."""
        free = card.memory - self.others - card.others - card.taken - (_BLIND if card.unified else 0)
        given = self.share(card) * card.memory - (0 if card.unified else card.taken)
        return max(0.0, min(given, free))


@dataclass(frozen=True)
class Measured:
    """What one backend told of itself: it goes before every constant.

    `overhead`: bytes on each card by part (activations, runtime, graphs); `curve`: {requests at once: tokens a
    second of all}, as a person says; `start`: seconds until it was warm; `speeds`: what `floor calibrate` found; `cut`:
    cards that shared each layer then, and the layers of each stage (None: not known). A backend of the same name that
    is cut in another way is another one.
    """

    overhead: Mapping[str, float] = field(default_factory=dict)
    curve: Mapping[int, float] = field(default_factory=dict)
    start: float | None = None
    speeds: Speeds | None = None
    cut: tuple[int, tuple[int, ...]] | None = None

    def of(self, tp: int, stages: int) -> Measured:
        """Given how many cards share each layer of a backend, and its stages, return what this tells of it."""
        alike = self.cut is None or (self.cut[0], len(self.cut[1])) == (tp, stages)
        return self if alike else Measured(curve=self.curve)

    def of_stretches(self, layers: tuple[int, ...]) -> Measured:
        """Given the layers of each of its stages as well, return what this tells of that: its speeds are of a cut."""
        return self if self.cut is None or self.cut[1] == layers else replace(self, speeds=None)


@dataclass(frozen=True)
class Want:
    """A model and what is asked of it.

    `context`: longest request; `at_once`: requests of that length that each backend must hold at once; `cap`: requests
    at once in a backend; `critical`: it must survive the loss of any one box. `depth`: tokens of a usual request.
    `align`: prefix caching is on, which it is by default; `small_states`: the engine was told the size of the blocks
    that states are kept in (--mamba-block-size), so that all of the cache can be used. `model_bytes`: of one of its
    values, which a cache of the kind `auto` has as well. `given`: bytes that its cache has whatever is left. `group`:
    the boxes of the group that there is, the head first.
    """

    name: str
    shape: Shape
    weights: Weights
    context: int
    at_once: int = 1
    cap: int = 12
    kv_cache: str = "auto"
    engine: str = "vllm"
    drafts: int = 0
    critical: bool = False
    depth: int = 8192
    prompt: int = 8192
    in_flight: int = IN_FLIGHT
    taken: float = 0.6
    align: bool = True
    small_states: bool = False
    model_bytes: int = 2
    given: float | None = None
    group: tuple[str, ...] = ()
    measured: Mapping[str, Measured] = field(default_factory=dict)

    def load(self, tp: int = 1) -> Load:
        """Given how many cards share a layer, return the model as the speed model takes it."""
        setting = Setting(
            kv_bytes=self.model_bytes if self.kv_cache == "auto" else kv_bytes(self.kv_cache),
            model_bytes=self.model_bytes,
            block=BLOCK,
            tp=tp,
            spec=self.drafts,
            in_flight=self.in_flight,
            align=self.align,
        )
        return Load(self.shape, self.weights, setting, self.drafts, self.taken)

    def within(self, context: int) -> Want:
        """Given the longest request, return it with that: no usual request and no prompt is longer."""
        return replace(self, context=context, depth=min(self.depth, context), prompt=min(self.prompt, context))

    def as_other(self) -> Want:
        """Return it without what was measured of its speed: it is to be another build than the one that was."""
        slower = {name: replace(one, curve={}, speeds=None) for name, one in self.measured.items()}
        return replace(self, measured=slower)

    def linked(self, places: Sequence[Place]) -> list[Place]:
        """Given boxes, return those that a group of it may stand on, those of the group that there is before others and
        in its order: it keeps its head, and its name, by which its measurements go."""
        places = [place for place in places if place.linked and place.cards]
        order = {name: number for number, name in enumerate(self.group)}
        return sorted(places, key=lambda place: order.get(place.name, len(order)))

    @property
    def mixture(self) -> bool:
        """Whether it is a mixture of experts."""
        return any(layer.experts for layer in self.shape.layers)


def kv_bytes(kind: str) -> float:
    """Given a type of cache as floor.yaml has it, return the bytes of one value in it."""
    if kind.startswith("fp8"):
        return 1.0
    return {**_KV_BYTES, **_GGML}.get(kind, 2.0)


def boxes_of(backend: str) -> list[str]:
    """Given a backend's name, return the boxes that it stands on, the head first."""
    return backend.rpartition("@")[2].split("+")
