"""`floor layout`: what fits where, from boxes and weights that are there or only said to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from floor.config.load import Loaded
from floor.errors import FloorError, UsageError
from floor.layout.assign import Answer, answer
from floor.layout.fit import constants
from floor.layout.fleet import Measured, Place, Want
from floor.layout.layouts import Layout
from floor.layout.ledger import Books
from floor.layout.serving import servers
from floor.layout.simulate import Outcome, run
from floor.layout.taught import taught
from floor.layout.traffic import Traffic
from floor.operations import layout_look, layout_models, layout_names, layout_words
from floor.operations.layout_measured import measured
from floor.operations.layout_models import Models
from floor.operations.layout_warnings import warnings
from floor.operations.layout_words import Asked
from floor.operations.site import Site


@dataclass(frozen=True)
class Question:
    """What is to be answered: models, boxes. `warnings`: what is wrong with the layout that the file has now."""

    wants: list[Want]
    places: list[Place]
    warnings: tuple[str, ...] = ()


def question(asked: Asked, load: Callable[[], Loaded], open_site: Callable[[], Site]) -> Question:
    """Given what was asked for, and how floor.yaml is loaded and its boxes are reached, return the question.

    With --box the boxes are as said, and nothing is asked of any; weights must be on this machine then. A model that is
    written NAME=FOLDER needs no floor.yaml.
    """
    here = [layout_names.folder(word) for word in asked.models if "=" in word]
    names = [word for word in asked.models if "=" not in word]
    every = [*names, *(name for name, _ in here)]
    if twice := [name for number, name in enumerate(every) if name in every[:number]]:
        raise UsageError(f"model {twice[0]!r}: found it twice; name each model once")
    places = [layout_words.box(text) for text in asked.boxes]
    if len({place.name for place in places}) < len(places):
        raise UsageError("--box: found the same name twice; give each box its own")
    wants = [layout_look.here(name, source) for name, source in here]
    warnings: tuple[str, ...] = ()
    if names or not here or not places:
        more, own, warnings = _from_file(names, [want.name for want in wants], load, open_site, given=bool(places))
        wants, places = [*more, *wants], places or own
    unknown = [name for name in asked.critical if name not in {want.name for want in wants}]
    if unknown:
        raise UsageError(f"--critical {unknown[0]}: there is no such model; write one of {_names(wants)}")
    curves = dict(layout_names.curve(text, wants, places) for text in asked.curves)
    return Question([_asked(want, asked, curves) for want in wants], places, warnings)


def answers(asked: Question) -> list[Answer]:
    """Given models and boxes, return what is said of each model."""
    return answer(asked.wants, asked.places, constants())


def what_if(asked: Question, text: str) -> Question:
    """Given a question and edits as they were written, return the question with them; they hold for every model."""
    places = asked.places
    wants = []
    for want in asked.wants:
        changed, places = layout_words.edit(text, want, asked.places)
        wants.append(changed)
    return Question(wants, list(places))


def simulate(answered: Answer, traffic: Traffic) -> list[tuple[Layout, Outcome]]:
    """Given what is said of a model, and traffic, return what comes of each of its layouts; nothing of one that
    generates nothing."""
    if not answered.want.shape.causal:
        return []
    books = Books(answered.want, constants())
    return [(layout, run(servers(books, layout), traffic)) for layout in answered.found.layouts]


def _from_file(
    names: Sequence[str],
    here: Sequence[str],
    load: Callable[[], Loaded],
    open_site: Callable[[], Site],
    *,
    given: bool,
) -> tuple[list[Want], list[Place], tuple[str, ...]]:
    """Models and boxes of floor.yaml. `here`: models that were said with their folder; `given`: the boxes were said."""
    config = load().config
    chosen = list(names or ([] if here else config.models))
    for name in chosen:
        if name not in config.models:
            known = ", ".join(config.models)
            raise UsageError(f"model {name!r}: there is no such model; write one of {known}, or {name}=FOLDER")
    if given:
        models = layout_models.gather(config, chosen, lambda name, held: layout_look.here(name, held[0].source))
        return list(models.wants), [], _left_out(models, names)
    site = open_site()
    told = layout_look.look(site, layout_models.sources(config, chosen, config.boxes))
    models = layout_models.told(config, chosen, told)
    left = _left_out(models, names)
    wants = [replace(want, measured=measured(want, config, told)) for want in models.wants]
    places = [
        layout_models.seen(config, layout_look.place(name, config, answered), answered["gpus"])
        for name, answered in told.items()
    ]
    places = [taught(place, wants, constants()) for place in places]
    unlike = [line for want in wants for line in layout_models.unlike(config, want)]
    found = (*left, *unlike, *warnings(wants, config, places))
    asked = [*here, *(want.name for want in wants)]
    return wants, [layout_models.others_of(config, place, asked) for place in places], found


def _left_out(models: Models, names: Sequence[str]) -> tuple[str, ...]:
    """Warnings of models that could not be read. Raise FloorError for one that was asked for by name, and where none
    could be read."""
    asked = [why for name, why in models.unread.items() if name in names]
    if asked or (models.unread and not models.wants):
        raise FloorError("\n".join(asked or models.unread.values()))
    return tuple(f"no layout of {'; '.join(why.splitlines())}" for why in models.unread.values())


def _asked(want: Want, asked: Asked, curves: Mapping[str, Mapping[int, float]]) -> Want:
    for key, value in asked.settings.items():
        want = layout_words.setting(want, key, str(value), f"--{key.replace('_', '-')}")
    measured = dict(want.measured)
    for name, points in curves.items():
        measured[name] = replace(measured.get(name, Measured()), curve=points)
    return replace(want, critical=want.critical or want.name in asked.critical, measured=measured)


def _names(wants: Sequence[Want]) -> str:
    return ", ".join(want.name for want in wants)
