"""What boxes and weights tell for a layout: memory, cards, headers. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from floor.box import headers
from floor.config.model import Config, ResolvedCopy
from floor.errors import BoxError, FloorError, UsageError
from floor.layout import gguf, weights
from floor.layout.architecture import shape
from floor.layout.cards import CARDS, CPU, Card, told
from floor.layout.fleet import MEASURED, Place, Want
from floor.operations.guard_state import ENGINE_SHARE
from floor.operations.guard_state import card as takes_share
from floor.operations.site import Site

_BLOB = 500 * 2**20  # bytes: a difference in MemAvailable below it says nothing of others


def look(
    site: Site, sources: Mapping[str, Sequence[str]], boxes: Sequence[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Given a site, which sources are to be read on which box, and boxes (None: all managed ones), return what each
    told.

    Raise BoxError where one does not answer.
    """
    asked = {box: list(sources.get(box, ())) for box in (site.boxes if boxes is None else boxes)}
    answers = site.each(asked, lambda box, transport: transport.call("layout.look", {"sources": asked[box]}))
    failed = [str(answer) for answer in answers.values() if isinstance(answer, BoxError)]
    if failed:
        raise BoxError("\n".join([*failed, "say by --box NAME=CARD what the boxes are, where they cannot be asked"]))
    return {box: answer for box, answer in answers.items() if not isinstance(answer, BoxError)}


def place(name: str, config: Config, told_by: Mapping[str, Any]) -> Place:
    """Given a box's name, the config and what the box told, return it as a layout sees it.

    What floor's own engines have there does not count as others'. Raise UsageError for a card that is not in the table.
    """
    box, memory = config.boxes[name], told_by["memory"]
    cards = tuple(_card(name, gpu, memory.get("total")) for gpu in told_by["gpus"])
    here = [one for one in _engines(config) if one.box == name]
    if not cards and any(one.engine != "ollama" for one in here):
        cards = (replace(CARDS[CPU], memory=float(memory.get("total") or 0)),)
    others = 0.0
    if any(card.unified for card in cards):
        by_model: dict[str, list[float]] = {}
        for one in here:  # copies and a part of the group of one model never run side by side
            by_model.setdefault(one.model, []).append(own_memory(one, memory.get("total") or 0))
        others = _others(told_by, sum(max(sizes) for sizes in by_model.values()))
    return Place(name, cards, others, float(box.keep_free), linked=box.fabric is not None, origin=MEASURED)


def model(name: str, told_by: Mapping[str, Any], where: str) -> Want:
    """Given a model's name, what headers told of its weights and where these lie, return it with nothing asked yet."""
    if "error" in told_by:
        raise FloorError(f"{where}: {told_by['error']}")
    config = gguf.config(told_by["config"], where) if told_by["gguf"] else told_by["config"]
    found = shape(config, where if told_by["gguf"] else f"{where}/config.json")
    tensors = told_by["tensors"]
    built = weights.measured(tensors, found) if tensors else weights.computed(found, 16)
    engine, context = "llamacpp" if told_by["gguf"] else "vllm", found.context or 8192
    return Want(name, found, built, context, engine=engine).within(context)


def here(name: str, source: str) -> Want:
    """Given a model's name and a folder or .gguf file on this machine, return it with nothing asked yet."""
    return model(name, headers.read(Path(source)), source)


def configured(want: Want, copy: ResolvedCopy, *, critical: bool) -> Want:
    """Given a model and a copy of it from floor.yaml, return it with what the file says of it."""

    drafting = copy.args.get("speculative-config")
    count = drafting.get("num_speculative_tokens") if isinstance(drafting, Mapping) else None
    drafts = count if isinstance(count, int) and want.shape.drafts else 0
    flight = copy.args.get("max-num-batched-tokens")
    return replace(
        want.within(copy.context or want.context),
        cap=copy.max_requests or want.cap,
        kv_cache=copy.kv_cache,
        engine=copy.engine,
        drafts=drafts,
        in_flight=flight if isinstance(flight, int) else want.in_flight,
        critical=critical,
        align=copy.args.get("enable-prefix-caching") is not False,
        small_states="mamba-block-size" in copy.args,
        model_bytes=4 if str(copy.args.get("dtype")) in ("float32", "float") else 2,
        given=given(copy) if "VLLM_CPU_KVCACHE_SPACE" in copy.env else None,
    )


def given(copy: ResolvedCopy) -> float | None:
    """The bytes of the cache that a copy was told to have; None where it takes what is left."""
    space = copy.env.get("VLLM_CPU_KVCACHE_SPACE", "")  # GiB, of vLLM on a CPU
    if space.isdigit():
        return float(space) * 2**30
    return float(copy.cache_memory) if copy.cache_memory is not None else None


def share(copy: ResolvedCopy) -> float | None:
    """Given a copy, return the share of a card's memory that its engine takes, which is vLLM's own where the file says
    none; None of an engine that takes none."""
    return copy.utilization or (ENGINE_SHARE if takes_share(copy) else None)


def own_memory(copy: ResolvedCopy, total: float) -> float:
    """Given a copy and the bytes of its card, return what its engine takes of them, as far as the file says."""
    said = copy.utilization * total if copy.utilization else given(copy)
    return said if said is not None else (share(copy) or 0.0) * total


def _engines(config: Config) -> list[ResolvedCopy]:
    return [one for name in config.models for one in (*config.copies(name), *config.parts(name)) if one.managed]


def _card(box: str, gpu: Mapping[str, Any], total: int | None) -> Card:

    found = told(str(gpu["name"]))
    if found is None:
        raise UsageError(f"{box}: card {gpu['name']!r} is not in the table; say by --box {box}=CARD what it is like")
    memory = total if found.unified else gpu.get("total")
    return replace(found, memory=float(memory)) if memory else found


def _others(told_by: Mapping[str, Any], own: float) -> float:
    """What others take: as the guard has seen it over days, else what is taken now beyond floor's own engines."""
    if told_by.get("others") is not None:
        return float(told_by["others"])
    memory = told_by["memory"]
    if not memory.get("total") or memory.get("available") is None:
        return 0.0
    used = float(memory["total"] - memory["available"])
    left = used if used < own else used - own
    return left if left > _BLOB else 0.0


def source_of(name: str, answers: Mapping[str, Mapping[str, Any]], copies: Sequence[ResolvedCopy]) -> tuple[Any, str]:
    """Given what boxes told and a model's copies, return what the first box that has its weights told of them."""
    failed = []
    for copy in copies:
        read = answers.get(copy.box, {}).get("sources", {}).get(copy.source)
        if read and "error" not in read:
            return read, f"{copy.box}: {copy.source}"
        if read:
            failed.append(f"{copy.box}: {read['error']}")
    why = "\n".join(failed) or "no managed box holds a copy of it"
    raise FloorError(f"{name}: its weights were found nowhere; fetch them, or write {name}=FOLDER\n{why}")
