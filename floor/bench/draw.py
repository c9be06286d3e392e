"""A run as a picture: bars for a terminal, SVG for a page. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from .level import Level

BAR = 40  # characters of the longest bar
WIDE, HIGH, EDGE = 640, 320, 56  # of the SVG, and of the margin for its words

_HEAD = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img" font-family="sans-serif" '
    f'font-size="12"><title>{{title}}</title><rect width="{WIDE}" height="{HIGH}" fill="white"/>'
)


def bars(levels: Sequence[Level], chosen: float | None) -> list[str]:
    """Given levels and the one that is advised, return a line for each: how many at once, a bar, tokens a second."""
    best = max((level.rate for level in levels), default=0.0)
    lines = []
    for level in levels:
        length = round(BAR * level.rate / best) if best > 0 else 0
        mark = "  <- advised" if level.at == chosen else ""
        lines.append(f"{level.at:>6g} {'█' * length:<{BAR}} {level.rate:8.1f} tok/s{mark}")
    return lines


def svg(title: str, levels: Sequence[Level], chosen: float | None) -> str:
    """Given a title, levels and the one that is advised, return the picture; the bars at each point are its spread."""
    highest = max((level.rate * (1 + level.spread) for level in levels), default=1.0) or 1.0
    most = max((level.at for level in levels), default=1.0) or 1.0

    def place(at: float, rate: float) -> tuple[float, float]:
        x = EDGE + (WIDE - 2 * EDGE) * at / most
        return round(x, 1), round(HIGH - EDGE - (HIGH - 2 * EDGE) * rate / highest, 1)

    points = [place(level.at, level.rate) for level in levels]
    parts = [
        _HEAD.format(title=escape(title)),
        f'<text x="{WIDE / 2}" y="24" text-anchor="middle" font-size="14">{escape(title)}</text>',
        f'<path d="M{EDGE} {EDGE}V{HIGH - EDGE}H{WIDE - EDGE}" fill="none" stroke="#666"/>',
        f'<text x="{EDGE}" y="{EDGE - 8}">tok/s</text>',
        f'<text x="{WIDE - EDGE}" y="{HIGH - 12}" text-anchor="end">requests at once</text>',
        f'<text x="{EDGE - 6}" y="{EDGE + 4}" text-anchor="end">{highest:.0f}</text>',
        f'<polyline fill="none" stroke="#1f6feb" stroke-width="2" points="{" ".join(f"{x},{y}" for x, y in points)}"/>',
    ]
    for level, (x, y) in zip(levels, points, strict=True):
        low, high = (
            place(level.at, level.rate * (1 - level.spread))[1],
            place(level.at, level.rate * (1 + level.spread))[1],
        )
        colour = "#d1242f" if level.at == chosen else "#1f6feb"
        parts += [
            f'<path d="M{x} {low}V{high}" stroke="{colour}"/>',
            f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>',
            f'<text x="{x}" y="{HIGH - EDGE + 18}" text-anchor="middle">{level.at:g}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
