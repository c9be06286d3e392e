"""Writes families as a metrics page. Pure.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from .values import Family, Histogram, Kind, Labels, Summary, Value

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SUFFIXES = {Kind.HISTOGRAM: ("_bucket", "_sum", "_count"), Kind.SUMMARY: ("_sum", "_count")}


def write(families: Sequence[Family]) -> str:
    """Given families, each name once, return the page.

    A family whose name is that of a line of a histogram or summary of the page is left out: no page may have a line
    twice. One without any value is left out, too.
    """
    made = {family.name + suffix for family in families for suffix in _SUFFIXES.get(family.kind, ())}
    return "\n".join(_lines(family for family in families if family.children and family.name not in made)) + "\n"


def _lines(families: Iterable[Family]) -> Iterator[str]:
    for family in families:
        yield f"# HELP {family.name} {_help(family.help)}"
        yield f"# TYPE {family.name} {family.kind}"
        for labels, value in family.children.items():
            text = label_text(labels)
            if isinstance(value, float):
                yield f"{family.name}{{{text}}} {number(value)}" if text else f"{family.name} {number(value)}"
            else:
                yield from _compound(family.name, text, value)


def _compound(name: str, text: str, value: Value) -> Iterator[str]:
    before = f"{text}," if text else ""
    after = f"{{{text}}}" if text else ""
    if isinstance(value, Histogram):
        for bound, count in zip(value.bounds, value.counts, strict=True):
            yield f'{name}_bucket{{{before}le="{_bound(bound)}"}} {number(count)}'
        if value.sum is not None:
            yield f"{name}_sum{after} {number(value.sum)}"
        yield f"{name}_count{after} {number(value.count)}"
    elif isinstance(value, Summary):
        for share, at in value.quantiles:
            yield f'{name}{{{before}quantile="{number(share)}"}} {number(at)}'
        if value.sum is not None:
            yield f"{name}_sum{after} {number(value.sum)}"
        if value.count is not None:
            yield f"{name}_count{after} {number(value.count)}"


def number(value: float) -> str:
    """Given a number, return it as the format writes it."""
    text = repr(value)
    if text[-1] == "f":
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if text == "nan" else text


@lru_cache(maxsize=4096)
def _bound(value: float) -> str:
    return number(value)


@lru_cache(maxsize=65536)
def label_text(labels: Labels) -> str:
    """Given labels, return what stands between the braces."""
    return ",".join(f'{name}="{_quoted(value)}"' for name, value in labels)


def _quoted(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _help(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace("\r", " ") or "(the engine says nothing of it)"
