"""An engine's page under present names, and floor's own figures out of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from floor.healthcheck.dialects.ollama import load

from .catalogue import ALIASES, CACHE, FIGURES, LOADED, MISNAMED, ON_CARD, RESIDENT, Figure, Mode, Source
from .exposition import COUNTED, UnreadableError
from .values import Family, Histogram, Kind, Page, Value, add, exact

Figures = Mapping[str, Value]
"""What an engine has of `catalogue.FIGURES`, by their names. What it has not is absent, which is never 0."""


def present(page: Page) -> Page:
    """Given a page, return it with families under their present names. Where both names are there, the older one goes:
    engines show both for a release or two."""
    renamed: dict[str, Family] = {}
    for name, family in page.items():
        now = ALIASES.get(name, name)
        if now != name and now in page:
            continue
        if name in MISNAMED and family.kind in (Kind.HISTOGRAM, Kind.SUMMARY):
            continue  # no number, whatever it is
        if now == name and name not in MISNAMED:
            renamed[name] = family
        else:
            renamed[now] = replace(family, name=now, kind=MISNAMED.get(now, family.kind))
    return renamed


def figures(dialect: str, page: Page) -> Figures:
    """Given the dialect and the page of an engine under present names, return floor's figures of it."""
    found: dict[str, Value] = {}
    for figure in FIGURES:
        source = figure.source(dialect)
        value = None if source is None else _value(page, source, figure)
        if value is not None:
            found[figure.name] = value
    cache = _cache_tokens(page)
    return found if cache is None else {**found, CACHE: cache}


def ollama(body: bytes, model: str) -> Figures:
    """Given the answer of Ollama's `/api/ps` and the served name, return floor's figures. Raise UnreadableError if it
    is none."""
    told = load(body)
    if told is None or told.resident is None:
        raise UnreadableError("is no answer of Ollama's /api/ps")
    if told.lacks(model):
        return {LOADED: 0.0}
    listed = json.loads(body)["models"]
    entry = next(one for one in listed if model in (str(one["name"]), str(one["name"]).removesuffix(":latest")))
    return {LOADED: 1.0, RESIDENT: _size(entry.get("size")), ON_CARD: _size(entry.get("size_vram"))}


def _size(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value <= COUNTED else 0.0


def _value(page: Page, source: Source, figure: Figure) -> Value | None:
    """The figure of one engine: what its series come to, those of the parts of a data-parallel one included."""
    kind = Kind.HISTOGRAM if source.count else figure.kind
    first = page.get(source.families[0])
    if first is None or first.kind is not kind:
        return None
    families = [first, *(page[name] for name in source.families[1:] if name in page)]
    values = [
        value
        for family in families
        if family.kind is kind
        for labels, value in family.children.items()
        if not any(value in source.without.get(label, ()) for label, value in labels)
    ]
    if not values:
        return None
    if source.count:
        counts = [value.count for value in values if isinstance(value, Histogram)]
        return exact(counts) if counts else None
    if figure.mode is Mode.MEAN:
        numbers = [value for value in values if isinstance(value, float)]
        return exact(numbers) / len(numbers) if numbers else None
    return add(values)


def _cache_tokens(page: Page) -> float | None:
    """How many tokens the KV cache of a vLLM holds; releases before 0.11 tell blocks and their size alone."""
    family = page.get("vllm:cache_config_info")
    if family is None:
        return None
    sizes = []
    for labels in family.children:
        told = dict(labels)
        tokens = _whole(told.get("kv_cache_size_tokens"))
        if tokens is None:
            blocks, size = _whole(told.get("num_gpu_blocks")), _whole(told.get("block_size"))
            tokens = None if blocks is None or size is None else blocks * size
        if tokens is None:
            return None
        sizes.append(tokens)
    return exact(sizes) if sizes else None


def _whole(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 16 else None
