"""The models of floor.yaml as a layout sees them: where their weights lie, how they are cut, on which cards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floor.config.check.memory import ALL, cards_of
from floor.config.model import Config, ResolvedCopy
from floor.errors import FloorError
from floor.layout.cards import Card
from floor.layout.fleet import Place, Want
from floor.operations import layout_look

_READ = ("vllm", "llamacpp")  # engines that are given a folder or a file of weights; Ollama keeps its own
_STAGES = "VLLM_PP_LAYER_PARTITION"


@dataclass(frozen=True)
class Models:
    """Models with what the file asks of each, and why others are not among them, a line each."""

    wants: tuple[Want, ...]
    unread: Mapping[str, str]


def holders(config: Config, name: str) -> list[ResolvedCopy]:
    """Given the config and a model's name, return its copies and the parts of its group on boxes that floor manages,
    whose weights can be read."""
    every = (*config.copies(name), *config.parts(name))
    return [one for one in every if one.managed and one.source and one.engine in _READ]


def sources(config: Config, names: Collection[str], boxes: Collection[str]) -> dict[str, list[str]]:
    """Given the config, models and boxes, return which weights are to be read on which box."""
    held = [one for name in names for one in holders(config, name)]
    return {box: sorted({one.source for one in held if one.box == box}) for box in boxes}


def gather(config: Config, names: Sequence[str], read: Callable[[str, Sequence[ResolvedCopy]], Want]) -> Models:
    """Given the config, models and what reads the weights of one, return them with what the file asks of each. What
    cannot be read keeps nobody else from an answer."""
    wants, unread = [], {}
    for name in names:
        held = holders(config, name)
        if not held:
            lies = "its weights lie in no folder of a box that floor manages"
            unread[name] = f"{name}: {lies}; write {name}=FOLDER for them"
            continue
        try:
            want = layout_look.configured(read(name, held), held[0], critical=config.models[name].critical)
        except FloorError as error:
            unread[name] = str(error)
            continue
        split = config.models[name].split
        wants.append(replace(want, group=tuple(split.boxes) if split else ()))
    return Models(tuple(wants), unread)


def told(config: Config, names: Sequence[str], answers: Mapping[str, Mapping[str, Any]]) -> Models:
    """Given the config, models and what boxes told, return the models as `gather` does."""
    return gather(
        config,
        names,
        lambda name, held: layout_look.model(name, *layout_look.source_of(name, answers, held)),
    )


def unlike(config: Config, want: Want) -> list[str]:
    """Given the config and a model as it is computed, return a line for each copy or group that has another context or
    kind of cache than that."""
    found = []
    for one in (*(copy for copy in config.copies(want.name) if copy.managed), *config.parts(want.name)[:1]):
        own = {"context": one.context or want.context, "kv_cache": one.kv_cache}
        other = [f"{key} {value}" for key, value in own.items() if value != getattr(want, key)]
        if other:
            found.append(
                f"{one.backend} has {' and '.join(other)} in the file; it is computed as the others of its model"
            )
    return found


def cut(config: Config, one: ResolvedCopy, layers: int) -> tuple[int, tuple[int, ...]] | None:
    """Given the config, a copy or the head of a group, and the layers of its model, return how many cards share each
    layer, and the layers of each stage; None where its arguments have no numbers there.

    Where nothing says the stages, they are vLLM's: even, the rest to those before the last (vllm/distributed/utils.py,
    get_pp_indices).
    """
    split = config.models[one.model].split if "+" in one.backend.rpartition("@")[2] else None
    if split is not None:
        return split.tensor_parallel or 1, tuple(split.pipeline or [layers])
    try:
        tp = int(one.args.get("tensor-parallel-size", 1))
        many = int(one.args.get("pipeline-parallel-size", 1))
        said = [int(word) for word in one.env[_STAGES].split(",")] if _STAGES in one.env else []
    except (TypeError, ValueError):
        return None
    if tp < 1 or not 1 <= many <= layers or (said and len(said) != many):
        return None
    stages = said or [layers // many] * many
    for place in range(0 if said else layers % many):
        stages[-2 - place] += 1
    return tp, tuple(stages)


def seen(config: Config, place: Place, gpus: Sequence[Mapping[str, Any]]) -> Place:
    """Given the config, a box and what its driver tells of its cards, return the box with what others than floor's
    engines have on cards with a memory of their own.

    A driver does not tell whose memory it is. What is used up to an engine's share is the engine's, where at least half
    of the share is used: less is no engine that runs.
    """
    own = [0.0] * len(place.cards)
    for name in config.models:
        here = [one for one in (*config.copies(name), *config.parts(name)) if one.managed and one.box == place.name]
        sizes = [0.0] * len(own)  # copies and a part of the group of one model never run side by side
        for one in here:
            for number in _numbers(one, place.cards, _ranks(config, one)):
                sizes[number] = max(sizes[number], layout_look.own_memory(one, place.cards[number].memory))
        own = [before + more for before, more in zip(own, sizes, strict=True)]
    cards = []
    for number, card in enumerate(place.cards):
        used = float(gpus[number].get("used") or 0) if number < len(gpus) and not card.unified else 0.0
        beyond = used - own[number] if used >= own[number] / 2 else used
        cards.append(replace(card, others=max(0.0, beyond)))
    return replace(place, cards=tuple(cards))


def others_of(config: Config, place: Place, names: Collection[str]) -> Place:
    """Given the config, a box and the models that are asked for, return the box with what the engines of the others
    take of its cards: they stay where they are."""
    cards = list(place.cards)
    for name in config.models:
        if name in names:
            continue
        here = [one for one in (*config.copies(name), *config.parts(name)) if one.managed and one.box == place.name]
        for number in _numbers(here[0], cards, _ranks(config, here[0])) if here else ():
            taken = cards[number].taken + layout_look.own_memory(here[0], cards[number].memory)
            cards[number] = replace(cards[number], taken=taken)
    return replace(place, cards=tuple(cards))


def _ranks(config: Config, one: ResolvedCopy) -> int:
    """How many cards of its box an engine takes."""
    split = config.models[one.model].split if "+" in one.backend.rpartition("@")[2] else None
    if split is not None:
        return max(1, split.ranks // len(split.boxes))
    found = cut(config, one, 1 << 20)
    return found[0] * len(found[1]) if found else 1


def own_cards(one: ResolvedCopy, place: Place, many: int) -> tuple[Card, ...]:
    """Given a copy, its box and how many cards it takes there, return those that it runs on: the first that it is
    given."""
    return tuple(place.cards[number] for number in _numbers(one, place.cards, many))


def _numbers(one: ResolvedCopy, cards: Sequence[Card], many: int) -> list[int]:
    ids = cards_of(one)
    given = ids and ids != {ALL} and all(name.isdigit() for name in ids)
    return [number for number in range(len(cards)) if not given or str(number) in ids][:many]
