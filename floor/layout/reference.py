"""docs/layout.md, made from the speed model and its published rows. `python -m floor.layout.reference` prints it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from floor.layout.cards import CARDS
from floor.layout.fit import Shown, constants, median, shown
from floor.layout.rows import BATCHES, ONE_STREAM, PROMPTS, Row
from floor.sizes import gib

_MISSED = 0.15

_HEAD = """\
# How far layouts can be trusted

Made by `python -m floor.layout.reference`; do not edit it here.

`floor layout` computes. What it computes is held here against what others measured and published, with the rows that it
misses. A row is *fitted* where the constants were chosen by it, *held out* where they were not: only those show
anything.

## Cache

The tokens of a cache are vLLM's own arithmetic (pages, groups, blocks), replayed against published start logs in
`tests/cases/layout/starts.yaml`: every row comes out as it was logged, within the rounding of the log. Latent attention
(MLA) had no log to be held against; of sliding windows one shows the pages, none what a request takes; of Mamba 2 one
shows the length of its blocks. What rests on them is marked *unverified*.

What an engine takes beside weights and cache (activations, runtime, graphs) are constants until the box has told its
own at a start. They are the weak half, and marked *assumed*.

## Speed

A step of generation takes what it reads, divided by the share of the bandwidth that is reached, and a fixed time; the
requests of a step read the weights once and each its own cache, and compute more than one does. In a mixture of experts
T tokens touch E·(1 - (1 - k/E)^T) of E experts where they choose independently. They do not: requests choose alike, so
T is taken to the power below, which is fitted on fitted rows alone. A prompt takes what it computes, divided by the
share of the compute that is reached.

Which rows are fitted was set by a rule, not by how they come out: of the source that has measured five models on one
card, the first, third and fifth in its order with every row, the second and fourth not with any. Other kinds of memory
have too few rows for a rule: there some of each are fitted.

Where a published figure does not say which bytes its build reads, its row says what was taken.
"""


def reference() -> str:
    """Return the whole document as Markdown."""
    parts = [_HEAD, *_constants(), *_set("One stream", ONE_STREAM), *_set("Several requests at once", BATCHES)]
    return "\n".join([*parts, *_set("Reading a prompt", PROMPTS), *_cards()]) + "\n"


def _constants() -> Iterator[str]:
    found = constants()
    yield "| constant | value | from |"
    yield "|---|---|---|"
    for kind, share in found.efficiency.items():
        yield f"| share of the bandwidth, {kind} | {share:.2f} | {_origin(kind)} |"
    for kind, seconds in found.fixed.items():
        yield f"| fixed time a step, {kind} | {seconds * 1000:.2f} ms | {_fixed(kind)} |"
    for name, share in zip(("dense models", "mixtures of experts", "attention"), found.reading, strict=True):
        yield f"| share of the compute, {name} | {share:.2f} | fitted |"
    yield f"| power of the tokens that choose experts | {found.alike:.2f} | fitted |"
    fabric, inside = (f"{seconds * 1e6:.0f} µs" for seconds in found.hop)
    yield f"| exchange between cards that share a layer, over a fabric | {fabric} | fitted on one row |"
    yield f"| the same within a box | {inside} | assumed |"
    yield f"| from stage to stage, over a fabric | {found.handing[0] * 1e6:.0f} µs | assumed |"
    yield ""


def _fixed(kind: str) -> str:
    return "that of lpddr, assumed" if kind == "ddr" else "fitted"


def _origin(kind: str) -> str:
    return {
        "hbm": "that of gddr: one row is too few for two",
        "apple": "that of lpddr",
        "ddr": "that of lpddr, assumed",
    }.get(kind, "fitted")


def _set(title: str, rows: Sequence[Row]) -> Iterator[str]:
    found = shown(rows)
    held = [one.error for one in found if not one.row.fit]
    missed = [one for one in found if abs(one.error) > _MISSED]
    yield f"### {title}\n"
    half, worst = f"{median(held):.1%}", f"{max(map(abs, held)):.0%}"
    yield f"{len(rows)} rows, {len(held)} of them held out: half of those are within {half}, the worst is {worst} off."
    fresh = _fresh(found)
    known = f"Of the {len(fresh)} whose model has no fitted row on that kind of memory"
    yield f"{known}, half are within {median(fresh):.1%}."
    yield f"{len(missed)} of all are missed by more than {_MISSED:.0%} (**bold**).\n"
    yield "| model | build | card | engine | tokens before | at once | published | computed | off | row | source |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    yield from (_row(one) for one in found)
    yield ""


def _fresh(found: Sequence[Shown]) -> list[float]:
    """Errors of the rows of a model that no fitted row on the same kind of memory is of."""
    known = {(one.row.model, CARDS[one.row.card].kind) for one in found if one.row.fit and one.row.tp == 1}
    return [one.error for one in found if (one.row.model, CARDS[one.row.card].kind) not in known]


def _row(one: Shown) -> str:
    row = one.row
    card = f"{row.tp} × {row.card}" if row.tp > 1 else row.card
    off = f"**{one.error:+.0%}**" if abs(one.error) > _MISSED else f"{one.error:+.0%}"
    cells = (row.model, row.build, card, row.engine, f"{row.depth:,}", str(row.batch), f"{row.speed:g}")
    more = (f"{one.predicted:.1f}", off, "fitted" if row.fit else "held out", row.source)
    return f"| {' | '.join((*cells, *more))} |"


def _cards() -> Iterator[str]:
    yield "## Cards\n"
    yield "As their makers' data sheets state them; memory as their drivers show it. What a box tells goes before.\n"
    yield "| card | memory | bandwidth | compute, 16 bits | kind |"
    yield "|---|---|---|---|---|"
    for card in CARDS.values():
        memory = f"{gib(card.memory)}{', shared' if card.unified else ''}"
        speeds = f"{card.bandwidth / 1e9:,.0f} GB/s | {card.compute / 1e12:.0f} TFLOPS"
        yield f"| {card.name} | {memory} | {speeds} | {card.kind} |"


if __name__ == "__main__":
    print(reference(), end="")
