"""What is wrong with the layout that floor.yaml has, as far as boxes and weights tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from floor.config.model import Config, ResolvedCopy
from floor.desired import copies, groups
from floor.errors import FloorError
from floor.layout import stated
from floor.layout.backend import Misfit
from floor.layout.fit import constants
from floor.layout.fleet import Place, Want
from floor.layout.layouts import copy
from floor.layout.ledger import Books
from floor.layout.taught import taught
from floor.operations import layout_look
from floor.operations.layout_measured import measured
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
                yield from _copy(want, one, known[one.box])
        yield from _group(want, config, known)


def found(site: Site) -> list[str]:
    """Ask the boxes, and return the warnings. Raise FloorError where they, or the weights, cannot be read."""
    config = site.loaded.config
    every = {name: [one for one in config.copies(name) if one.source] for name in config.models}
    held = [one for some in every.values() for one in some]
    told = layout_look.look(site, {box: sorted({one.source for one in held if one.box == box}) for box in site.boxes})
    places = [layout_look.place(name, config, answered) for name, answered in told.items()]
    wants = []
    for name, some in every.items():
        if some:
            want = layout_look.model(name, *layout_look.source_of(name, told, some))
            want = layout_look.configured(want, some[0], critical=config.models[name].critical)
            wants.append(replace(want, measured=measured(want, config, told)))
    learnt = [taught(place, wants, constants()) for place in places]
    return list(warnings(wants, config, learnt))


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


def _copy(want: Want, one: ResolvedCopy, place: Place) -> Iterator[str]:
    own = layout_look.configured(want, one, critical=want.critical)
    most = own.shape.context
    if most and own.context > most and not set(_STRETCHED) & set(one.args):
        yield f"{one.backend}: no request could use a context of {own.context:,}: the model takes {most:,}"
    elif one.utilization is not None:
        fits = copy(Books(own, constants()), replace(place, utilization=one.utilization))
        if isinstance(fits, Misfit):
            yield f"{one.backend} with its share of {one.utilization:g}: {fits.why}"


def _group(want: Want, config: Config, known: dict[str, Place]) -> Iterator[str]:
    split, parts = config.models[want.name].split, config.parts(want.name)
    if split is None or not all(part.box in known for part in parts):
        return
    own = layout_look.configured(want, parts[0], critical=want.critical)
    places = [replace(known[part.box], utilization=part.utilization) for part in parts]
    layers = split.pipeline or [len(want.shape.layers)]
    yield from stated.warnings(Books(own, constants()), places, split.tensor_parallel or 1, layers)
