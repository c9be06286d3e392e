"""`floor guard`: what the guards know, which shares the engines should have, and giving them these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from floor.config import edit
from floor.config.load import Loaded, examine
from floor.config.model import Config, ResolvedCopy
from floor.config.problem import KeyPath
from floor.desired.watch import engines
from floor.errors import BoxError, RefusedError, UsageError
from floor.operations import own_file
from floor.operations.deploy import deploy
from floor.operations.guard_state import BoxAdvice, advice_for
from floor.operations.outcome import Outcome
from floor.operations.site import Site

Say = Callable[[str], None]


def status(site: Site) -> dict[str, Any]:
    """Ask every box. Return {box: {state, age, holds} or {error}}, stable for --json."""
    answers = site.each(site.boxes, lambda _box, transport: transport.call("guard.state", {}))
    return {box: {"error": str(answer)} if isinstance(answer, BoxError) else answer for box, answer in answers.items()}


def advices(site: Site, boxes: Collection[str] = ()) -> list[BoxAdvice]:
    """Given names of boxes (empty: all), return the advice for each. Raise UsageError for a box that is not there."""
    if unknown := sorted(set(boxes) - set(site.boxes)):
        raise UsageError(f"{unknown[0]}: no box that floor manages; there are {', '.join(site.boxes)}")
    found = status(site)
    told = []
    for box in boxes or site.boxes:
        if "error" in found[box]:
            told.append(BoxAdvice(box, (), found[box]["error"]))
        else:
            told.append(advice_for(site.loaded.config, box, found[box]))
    return told


def apply(
    site: Site, boxes: Collection[str], say: Say, progress: Say, *, dry_run: bool, force: bool
) -> tuple[str, Outcome | None]:
    """Given names of boxes (empty: all), write the advised shares into floor.yaml and deploy it, one copy at a time.

    Return the difference of the file (empty: nothing to do), and the outcome. With `dry_run` nothing is written, and
    where the deployment is refused the file stays as it is. Raise RefusedError where a box has no room for one of its
    engines, and as `deploy` does.
    """
    found = advices(site, boxes)
    for one in found:
        say(f"{one.box}: {one.why}")
        if no := [advice for advice in one.advice if not advice.fits]:
            raise RefusedError(f"{one.box}: {no[0].backend}: {no[0].text}; move it, or what else runs there")
    loaded = edited(site.loaded, found)
    difference = edit.diff(site.loaded.text, loaded.text, str(site.loaded.path))
    if not difference:
        return "", None
    say(difference.rstrip("\n"))
    fresh = replace(site, loaded=loaded)

    def begins() -> None:
        own_file.write(loaded.path, loaded.text)

    return difference, deploy(fresh, None, say, progress, dry_run=dry_run, force=force, roll_back=False, begins=begins)


def edited(loaded: Loaded, found: Sequence[BoxAdvice]) -> Loaded:
    """Given a loaded floor.yaml and advice for boxes, return it with the advised shares in it, and explicit caches
    where it has such. Raise ConfigError where that cannot be written or makes the file wrong."""
    text = loaded.text
    for box, one in [(each.box, one) for each in found for one in each.advice]:
        now, place = _place(examine(text, str(loaded.path))[0], one.backend, box)
        if now.utilization != one.utilization:
            text = _set(text, place, box, "utilization", one.utilization, loaded)
        if now.cache_memory is not None and one.cache and one.cache < now.cache_memory:
            _, place = _place(examine(text, str(loaded.path))[0], one.backend, box)
            text = _set(text, place, box, "cache_memory", f"{one.cache // 2**20}MiB", loaded)
    config, warnings = examine(text, str(loaded.path))
    return Loaded(config, text, loaded.path, warnings)


def _place(config: Config, backend: str, box: str) -> tuple[ResolvedCopy, KeyPath]:
    """An engine of a box as it is now, and where what differs on that box stands, or would stand, in floor.yaml."""
    model = backend.rpartition("@")[0]
    split, copies = config.models[model].split, config.models[model].replicas
    if split is not None and any(part.backend == backend for part in config.parts(model)):
        now = next(part for part in config.parts(model) if part.box == box)
        known = [part.box for part in split.parts]
        return now, ("models", model, "split", "parts", known.index(box) if box in known else len(known))
    index = next(index for index, copy in enumerate(copies) if copy.box == box)
    return config.resolve(model, copies[index]), ("models", model, "replicas", index)


def _set(text: str, place: KeyPath, box: str, key: str, value: Any, loaded: Loaded) -> str:
    """One option of an engine on a box. A part of a group about which nothing differed yet gets an entry of its own."""
    models = examine(text, str(loaded.path))[0].models
    split = models[str(place[1])].split
    if place[2] == "split" and split is not None and place[4] == len(split.parts):
        return edit.set_value(text, place, {"box": box, key: value}, str(loaded.path))
    return edit.set_value(text, (*place, key), value, str(loaded.path))


def release(site: Site, backend: str, say: Say) -> None:
    """Given a backend that a guard keeps down, let it go; its box's watchdog, or a deployment, starts it. Of a group
    every part is let go.

    Raise UsageError for what is no backend of ours, RefusedError where it is not kept down.
    """
    config = site.loaded.config
    units = {box: one.unit for box in site.boxes for one in engines(config, box) if one.copy.backend == backend}
    if not units:
        raise UsageError(f"{backend}: no backend that floor manages; write MODEL@BOX, as `floor status` shows it")
    gone = [site.boxes[box].call("guard.release", {"unit": unit})["released"] for box, unit in units.items()]
    if not any(gone):
        raise RefusedError(f"{backend}: the guard does not keep it down; see `floor guard status`")
    say(f"{backend} may start again: its watchdog starts it, or `floor deploy`")
