"""A layout as a picture: the memory of each card by part, and which layers lie on it. In letters, and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from floor.layout.backend import Backend
from floor.layout.layouts import Layout
from floor.sizes import gib

WIDTH = 48  # letters for the memory of the largest card
LEGEND = "W weights   E engine (activations, runtime, graphs)   C cache   o others   . free"
_COLOURS = {"W": "#4477aa", "E": "#999999", "C": "#66ccaa", "o": "#cc8855", ".": "#eeeeee"}
_ROW, _LEFT, _BAR = 30, 210, 560  # pixels


@dataclass(frozen=True)
class _Bar:
    """A card: where it stands, its layers, its bytes by part in the order of the legend."""

    name: str
    layers: str
    parts: tuple[tuple[str, float], ...]
    memory: float


def letters(layouts: Sequence[Layout]) -> list[str]:
    """Given the layouts of models, return lines that show them; bars are to scale between cards."""
    lines = []
    bars = [list(_bars(layout)) for layout in layouts]
    largest = max((bar.memory for some in bars for bar in some), default=1.0)
    names = max((len(bar.name) for some in bars for bar in some), default=0)
    for some in bars:
        for bar in some:
            width = max(8, round(WIDTH * bar.memory / largest))
            lines.append(f"{bar.name:<{names}}  [{_spread(bar, width)}]  {bar.layers}")
    return [*lines, LEGEND] if lines else []


def svg(layouts: Sequence[Layout], title: str) -> str:
    """Given the layouts of models and a title, return an SVG document that shows them."""
    bars = [bar for layout in layouts for bar in _bars(layout)]
    largest = max((bar.memory for bar in bars), default=1.0)
    height = 60 + _ROW * len(bars) + 40
    width = _LEFT + _BAR + 220
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
    out = [
        f'{head} font-family="sans-serif" font-size="13"><title>{escape(title)}</title>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        top, left = 46 + _ROW * number, float(_LEFT)
        out.append(f'<text x="12" y="{top + 15}">{escape(bar.name)}</text>')
        for letter, size in bar.parts:
            wide = _BAR * size / largest
            out.append(
                f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="20" fill="{_COLOURS[letter]}" '
                f'stroke="#ffffff"><title>{gib(size)}</title></rect>'
            )
            left += wide
        out.append(f'<text x="{left + 8:.1f}" y="{top + 15}">{escape(bar.layers)}</text>')
    words = [("W", "weights"), ("E", "engine"), ("C", "cache"), ("o", "others"), (".", "free")]
    for number, (letter, word) in enumerate(words):
        at = _LEFT + 110 * number
        out.append(f'<rect x="{at}" y="{height - 30}" width="14" height="14" fill="{_COLOURS[letter]}"/>')
        out.append(f'<text x="{at + 20}" y="{height - 18}">{word}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _bars(layout: Layout) -> Iterator[_Bar]:
    for backend in layout.backends:
        places = iter(backend.uses)
        for stage in backend.stages:
            for rank in range(len(stage.cards)):
                used = next(places)
                engine = used.overhead.total
                free = max(0.0, used.left)
                parts = (("W", used.weights), ("E", engine), ("C", used.cache), ("o", used.others), (".", free))
                yield _Bar(
                    f"{used.box} {used.card.name}",
                    _layers(backend, stage.start, stage.end, rank),
                    parts,
                    used.card.memory,
                )


def _layers(backend: Backend, start: int, end: int, rank: int) -> str:
    shared = f", part {rank + 1} of {backend.tp}" if backend.tp > 1 else ""
    return f"{backend.name.partition('@')[0]}: layers {start}-{end - 1}{shared}"


def _spread(bar: _Bar, width: int) -> str:
    """Letters in proportion; rounding goes to where it is least wrong, so that they fill the bar."""
    total = sum(size for _, size in bar.parts) or 1.0
    exact = [width * size / total for _, size in bar.parts]
    whole = [int(share) for share in exact]
    for _ in range(width - sum(whole)):
        at = max(range(len(whole)), key=lambda n: exact[n] - whole[n])
        whole[at] += 1
    return "".join(letter * many for (letter, _), many in zip(bar.parts, whole, strict=True))
