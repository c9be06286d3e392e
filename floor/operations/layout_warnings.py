"""What is wrong with the layout that floor.yaml has, as far as boxes and weights tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from floor.config.model import Config, ResolvedCopy
from floor.desired import copies, groups
from floor.errors import FloorError, UsageError
from floor.layout import stated
from floor.layout.fit import constants
from floor.layout.fleet import Place, Want
from floor.layout.ledger import Books
from floor.layout.taught import taught
from floor.operations import layout_look, layout_models
from floor.operations.layout_measured import measured
from floor.operations.layout_models import cut, own_cards
from floor.operations.site import Site
from floor.plan.steps import Plan

_STRETCHED = ("rope-scaling", "rope-parameters", "hf-overrides")  # flags by which a model takes more than it says


def warnings(wants: Sequence[Want], config: Config, places: Sequence[Place]) -> Iterator[str]:
    """Given models, the config and boxes, yield what is wrong with their copies and groups, a line each: a context that
    no request could use, a stretch that sets the pace."""
    known = {place.name: place for place in places}
    for want in wants:
        for one in config.copies(want.name):
            if one.box in known and one.engine == "vllm":
                yield from _copy(want, one, config, known[one.box])
        yield from _group(want, config, known)


def found(site: Site) -> list[str]:
    """Ask the boxes, and return the warnings, those of models and cards that could not be read among them. Raise
    BoxError where a box does not answer."""
    config = site.loaded.config
    told = layout_look.look(site, layout_models.sources(config, list(config.models), list(site.boxes)))
    models = layout_models.told(config, list(config.models), told)
    wants = [replace(want, measured=measured(want, config, told)) for want in models.wants]
    places, unknown = [], []
    for name, answered in told.items():
        try:
            box = layout_models.seen(config, layout_look.place(name, config, answered), answered["gpus"])
            places.append(taught(box, wants, constants()))
        except UsageError as error:
            unknown.append(f"not looked at: {error}")
    unread = [f"not looked at: {'; '.join(why.splitlines())}" for why in models.unread.values()]
    return [*warnings(wants, config, places), *unread, *unknown]


def notes(site: Site, plan: Plan) -> tuple[str, ...]:
    """Given a plan, return the warnings of the models that it starts. Where boxes or weights tell nothing there are
    none: a deployment does not end for them."""
    steps = [step for stage in plan.stages for step in stage.steps if step.call == "unit.start"]
    units = {str(step.params["unit"]) for step in steps}
    known = site.loaded.config.models
    models = [name for name in known if units & {copies.unit_name(name), groups.unit_name(name)}]
    if not models:
        return ()
    try:
        return tuple(line for line in found(site) if line.partition("@")[0] in models)
    except FloorError:
        return ()


def _copy(want: Want, one: ResolvedCopy, config: Config, place: Place) -> Iterator[str]:
    """Of the copy as it is in the file: its cut, its cards, its share, the size of its cache."""
    own = replace(layout_look.configured(want, one, critical=want.critical), given=layout_look.given(one))
    most = own.shape.context
    if most and own.context > most and not set(_STRETCHED) & set(one.args):
        yield f"{one.backend}: no request could use a context of {own.context:,}: the model takes {most:,}"
        return
    # a cache of a said size is taken beside any share
    share, found = 1.0 if one.cache_memory else layout_look.share(one), cut(config, one, len(want.shape.layers))
    if share is None or found is None:
        return
    tp, layers = found
    many = tp * len(layers)
    cards = own_cards(one, place, many)
    if len(cards) < many:
        yield f"{one.backend}: takes {many} cards; {place.name} has {len(cards)} for it"
    else:
        yield from stated.warnings(
            Books(own, constants()), [replace(place, cards=cards, utilization=share)], tp, layers
        )


def _group(want: Want, config: Config, known: dict[str, Place]) -> Iterator[str]:
    split, parts = config.models[want.name].split, config.parts(want.name)
    if split is None or not all(part.box in known for part in parts):
        return
    sizes = [size for part in parts if (size := layout_look.given(part)) is not None]
    own = layout_look.configured(want, parts[0], critical=want.critical)
    own = replace(own, given=min(sizes) if len(sizes) == len(parts) else None)
    places = [
        replace(known[part.box], utilization=1.0 if part.cache_memory else layout_look.share(part)) for part in parts
    ]
    layers = split.pipeline or [len(want.shape.layers)]
    yield from stated.warnings(Books(own, constants()), places, split.tensor_parallel or 1, layers)
