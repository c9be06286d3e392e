"""The figures of a backend whose layers have their cards: cache, speed, prompt, start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from floor.layout.backend import Backend
from floor.layout.cards import Card
from floor.layout.fleet import COMPUTED, UNVERIFIED, Measured, Place, Want
from floor.layout.ledger import Ledger
from floor.layout.memory import Overhead, Use, use
from floor.layout.shape import Attention, Latent, Mamba
from floor.layout.speed import Constants, Stage, one_stream, reading, step, together

_DISK = 0.25e9  # bytes a second that weights are loaded at; assumed from starts of 5 to 13 minutes of 71 GiB
_COPY, _GROUP = 180.0, 900.0  # seconds of a start beside that: compiling and graphs, and rendezvous; assumed

Kept = Sequence[tuple[Sequence[tuple[Place, Card]], float, Stage]]
"""Each stage: its cards with their boxes, the bytes that weights and cache have on each of them, its layers."""


def measure(
    ledger: Ledger,
    kept: Kept,
    memory: tuple[Overhead, float],
    how: str,
    constants: Constants,
    known: Measured,
) -> Backend:
    """Given a model and its layers on their cards, return the backend with every figure of it.

    `memory`: bytes beside weights and cache, and the most blocks that the cache is to have. What it told of itself
    (`known`) goes before what is computed.
    """
    want = ledger.want
    stages = tuple(stage for _, _, stage in kept)
    names = tuple(dict.fromkeys(place.name for cards, _, _ in kept for place, _ in cards))
    held = [
        min(left - ledger.weights(stage.start, stage.end), want.given or math.inf) // per
        for _, left, stage in kept
        if (per := ledger.per_block(stage.start, stage.end))
    ]
    beside, most = memory
    blocks = int(min(*held, most)) if held else 0
    planned = int(blocks * ledger.holds)
    table = ledger.table
    requests = max(1, min(want.cap, blocks // ledger.running(min(want.depth, want.context))))
    uses = tuple(
        use(
            place,
            card,
            ledger.weights(stage.start, stage.end),
            beside,
            blocks * ledger.per_block(stage.start, stage.end),
        )
        for cards, _, stage in kept
        for place, card in cards
    )
    one = one_stream(ledger.load, stages, want.depth, constants, boxes=len(names)) if want.shape.causal else 0.0
    every = (
        together(ledger.load, stages, requests, want.depth, constants, boxes=len(names)) if want.shape.causal else 0.0
    )
    reads = reading(ledger.load, stages, want.prompt, constants)
    known = known.of_stretches(tuple(stage.end - stage.start for stage in stages))
    if known.speeds:
        one, every = known.speeds.together(1, want.depth), known.speeds.together(requests, want.depth)
        reads = known.speeds.reading(want.prompt)
    if known.curve:
        one, every = at(known.curve, 1), at(known.curve, requests)
    paces = [step(ledger.load, stage, max(1.0, requests / len(stages)), want.depth, constants) for stage in stages]
    return Backend(
        name=f"{want.name}@{'+'.join(names)}",
        boxes=names,
        how=how,
        tp=ledger.tp,
        stages=stages,
        uses=uses,
        blocks=blocks,
        tokens=table.tokens(blocks, want.context) if table.groups else 0,
        holds=table.tokens(planned, want.context) if table.groups else 0,
        at_once=table.at_once(planned, want.context),
        longest=table.longest(planned, want.context),
        one=one,
        all=every,
        requests=requests,
        reads=reads,
        starts=known.start or _starts(uses, names),
        cache_origin=_checked(want),
        uneven=max(paces) / (sum(paces) / len(paces)),
        timed=bool(known.curve or known.speeds),
        read_timed=known.speeds is not None,
        started=known.start is not None,
    )


def at(curve: Mapping[int, float], requests: int) -> float:
    """Given {requests at once: tokens a second}, return the speed at a number of requests: on the line between."""
    points = sorted(curve.items())
    below = [point for point in points if point[0] <= requests] or points[:1]
    above = [point for point in points if point[0] >= requests] or points[-1:]
    (low, slow), (high, fast) = below[-1], above[0]
    return float(slow if low == high else slow + (fast - slow) * (requests - low) / (high - low))


def _starts(uses: Sequence[Use], names: Sequence[str]) -> float:
    each = max(sum(used.weights for used in uses if used.box == name) for name in names)
    return each / _DISK + _COPY + (_GROUP if len(names) > 1 else 0.0)


def _checked(want: Want) -> str:
    mixers = {layer.mixer for layer in want.shape.layers}
    unchecked = any(
        isinstance(mixer, Latent | Mamba) or (isinstance(mixer, Attention) and mixer.window) for mixer in mixers
    )
    return UNVERIFIED if unchecked or want.engine != "vllm" else COMPUTED
