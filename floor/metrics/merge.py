"""Several copies' pages as one: each copy with its labels, and what the copies of a model come to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .catalogue import CACHE, FIGURES, GAUGES, WITHIN, Mode
from .normalise import Figures
from .values import GROWING, Family, Kind, Labels, Page, Value, add, exact

REMOVED = "removed"  # the copy that stands for those which are no longer in floor.yaml; a model's sums keep their part
COPY, MODEL, SUM = "floor_copy_", "floor_model_", "floor_sum:"


@dataclass(frozen=True)
class Part:
    """One copy as it is to be shown: its absorbed page under the engine's own names, and floor's figures of it."""

    copy: str
    box: str
    model: str
    page: Page = field(default_factory=dict)
    figures: Figures = field(default_factory=dict)

    @property
    def labels(self) -> Labels:
        return (("box", self.box), ("copy", self.copy), ("model", self.model))


def remainder(model: str, gone: Sequence[Part]) -> Part | None:
    """Given the copies of a model that are no longer there, return the one part that stands for them: what they
    counted. None where there are none."""
    if not gone:
        return None
    pages = _by_family([(part.page, ()) for part in gone])
    page = {
        name: family
        for name, found in pages.items()
        if found[0][2].kind in GROWING and (family := _sum(name, found, [])) is not None
    }
    figures: dict[str, Value] = {}
    for figure in FIGURES:
        values = [part.figures[figure.name] for part in gone if figure.name in part.figures]
        if figure.kind in GROWING and values:
            figures[figure.name] = add(values)
    return Part(REMOVED, "", model, page, figures)


def merge(parts: Sequence[Part]) -> list[Family]:
    """Given all parts, return the families of one page, in a fixed order and each name once.

    floor_copy_X of each copy and floor_model_X of each model for floor's figures; the engines' own families with labels
    copy, box and model; and floor_sum:NAME{model} for those of them that can be added up.
    """
    models = list(dict.fromkeys(part.model for part in parts))
    by_model = {model: [part for part in parts if part.model == model] for model in models}
    return [*_figures(by_model), *_own(parts), *_sums(by_model)]


def of_models(parts: Sequence[Part]) -> dict[str, dict[str, Value]]:
    """Given all parts, return floor's figures of each model by their names, without the rest of the page."""
    by_model = {part.model: [one for one in parts if one.model == part.model] for part in parts}
    found: dict[str, dict[str, Value]] = {model: {} for model in by_model}
    for family in _figures(by_model):
        if family.name.startswith(MODEL):
            for labels, value in family.children.items():
                found[dict(labels)["model"]][family.name.removeprefix(MODEL)] = value
    return found


def _figures(by_model: Mapping[str, Sequence[Part]]) -> Iterable[Family]:
    for figure in FIGURES:
        copies: dict[Labels, Value] = {}
        models: dict[Labels, Value] = {}
        for model, parts in by_model.items():
            having = [part for part in parts if figure.name in part.figures]
            copies |= {part.labels: part.figures[figure.name] for part in having}
            if having:
                values = [part.figures[figure.name] for part in having]
                weights = [part.figures.get(CACHE) for part in having]
                models[(("model", model),)] = (
                    _gauge(figure.mode, values, weights) if figure.kind is Kind.GAUGE else add(values)
                )
        if copies:
            yield Family(COPY + figure.name, figure.kind, figure.help, copies)
            yield Family(MODEL + figure.name, figure.kind, figure.help, models)


def _own(parts: Sequence[Part]) -> Iterable[Family]:
    """The engines' own families. A copy whose family has another type than that of the copies before it is left out of
    that family: a name has one type on a page."""
    families: dict[str, tuple[Family, dict[Labels, Value]]] = {}
    for part in parts:
        own = part.labels
        for name, family in part.page.items():
            first, children = families.setdefault(name, (family, {}))
            if first.kind is family.kind:
                for labels, value in family.children.items():
                    children[own + labels] = value
    for name in sorted(families):
        first, children = families[name]
        yield Family(name, first.kind, first.help, children)


def _sums(by_model: Mapping[str, Sequence[Part]]) -> Iterable[Family]:
    summed: dict[str, list[Family]] = {}
    for model, parts in by_model.items():
        weighed = [part.figures.get(CACHE) for part in parts]
        for name, found in _by_family([(part.page, (("model", model),)) for part in parts]).items():
            family = _sum(name, found, weighed)
            if family is not None:
                summed.setdefault(name, []).append(family)
    for name in sorted(summed):
        first = summed[name][0]
        children: dict[Labels, Value] = {}
        for family in summed[name]:
            if family.kind is first.kind:
                children |= family.children
        yield Family(SUM + name, first.kind, first.help, children)


Found = list[tuple[int, Labels, Family]]
"""The same family of several copies: which copy, labels to add, and the family."""


def _by_family(pages: Iterable[tuple[Page, Labels]]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for at, (page, labels) in enumerate(pages):
        for name, family in page.items():
            found.setdefault(name, []).append((at, labels, family))
    return found


def _sum(name: str, found: Found, weights: Sequence[Value | None]) -> Family | None:
    """One family over copies; None if it cannot be added up."""
    first = found[0][2]
    mode = GAUGES.get(name)
    if first.kind not in GROWING and (first.kind is not Kind.GAUGE or mode is None):
        return None
    groups: dict[Labels, list[tuple[int, Value]]] = {}
    for at, own, family in found:
        if family.kind is not first.kind:
            continue
        for labels, value in family.children.items():
            kept = own + tuple(pair for pair in labels if pair[0] not in WITHIN)
            groups.setdefault(kept, []).append((at, value))
    children: dict[Labels, Value] = {}
    for labels, pairs in groups.items():
        values = [value for _, value in pairs]
        if first.kind in GROWING:
            made = add(values)
            children[labels] = made
        else:
            children[labels] = _gauge(mode, values, [weights[at] for at, _ in pairs])
    return Family(name, first.kind, first.help, children)


def _gauge(mode: Mode | None, values: Sequence[Value], weights: Sequence[Value | None]) -> Value:
    """Several gauges as one. Without every weight, or with no weight at all, a mean counts each copy alike."""
    numbers = [value for value in values if isinstance(value, float)]
    if mode is Mode.MAX:
        return max(numbers)
    if mode is Mode.SUM:
        return exact(numbers)
    known = [weight for weight in weights if isinstance(weight, float)]
    if len(known) != len(numbers) or exact(known) <= 0:
        known = [1.0] * len(numbers)
    return exact(number * weight for number, weight in zip(numbers, known, strict=True)) / exact(known)
