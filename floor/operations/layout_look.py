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
from floor.layout.cards import Card, told
from floor.layout.fleet import MEASURED, Measured, Place, Want
from floor.operations.site import Site

_BLOB = 500 * 2**20  # bytes: a difference in MemAvailable below it says nothing of others


def look(site: Site, sources: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Given a site and which sources are to be read on which box, return what each managed box told.

    Raise BoxError where one does not answer.
    """
    asked = {box: list(sources.get(box, ())) for box in site.boxes}
    answers = site.each(site.boxes, lambda box, transport: transport.call("layout.look", {"sources": asked[box]}))
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
    others = 0.0
    if any(card.unified for card in cards) and memory.get("total") and memory.get("available") is not None:
        own = sum((copy.utilization or 0.0) * memory["total"] for copy in _copies(config) if copy.box == name)
        used = memory["total"] - memory["available"]
        others = used if used < own else used - own
        others = max(0.0, others if others > _BLOB else 0.0)
    return Place(name, cards, others, float(box.keep_free), linked=box.fabric is not None, origin=MEASURED)


def model(name: str, told_by: Mapping[str, Any], where: str) -> Want:
    """Given a model's name, what headers told of its weights and where these lie, return it with nothing asked yet."""
    config = gguf.config(told_by["config"], where) if told_by["gguf"] else told_by["config"]
    found = shape(config, where if told_by["gguf"] else f"{where}/config.json")
    tensors = told_by["tensors"]
    built = weights.measured(tensors, found) if tensors else weights.computed(found, 16)
    engine = "llamacpp" if told_by["gguf"] else "vllm"
    return Want(name, found, built, found.context or 8192, engine=engine)


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
        want,
        context=copy.context or want.context,
        cap=copy.max_requests or want.cap,
        kv_cache=copy.kv_cache,
        engine=copy.engine,
        drafts=drafts,
        in_flight=flight if isinstance(flight, int) else want.in_flight,
        critical=critical,
    )


def _copies(config: Config) -> list[ResolvedCopy]:
    return [copy for name in config.models for copy in config.copies(name)]


def _card(box: str, gpu: Mapping[str, Any], total: int | None) -> Card:

    found = told(str(gpu["name"]))
    if found is None:
        raise UsageError(f"{box}: card {gpu['name']!r} is not in the table; say by --box {box}=CARD what it is like")
    memory = total if found.unified else gpu.get("total")
    return replace(found, memory=float(memory)) if memory else found


def starts(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Measured]:
    """Given what boxes told, return by backend how long its last start took: what its head has seen."""
    found: dict[str, float] = {}
    for told_by in answers.values():
        for name, seconds in told_by.get("starts", {}).items():
            found[name] = max(found.get(name, 0.0), float(seconds))
    return {name: Measured(start=seconds) for name, seconds in found.items()}


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
