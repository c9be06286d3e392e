"""Parts of a configuration as the checks want them: with their paths, and only where the boxes they name exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from floor.config.model import Box, Config, Copy, Model, ResolvedCopy
from floor.config.problem import KeyPath, Problem

MODES = ("replicas", "split")


@dataclass(frozen=True)
class Placed:
    """A copy, or one part of a group, with its path, its model and its box. `modes` are those in which it runs."""

    path: KeyPath
    name: str
    model: Model
    copy: Copy
    box: Box
    resolved: ResolvedCopy
    modes: tuple[str, ...] = MODES

    def where(self, key: str) -> KeyPath:
        """Given an option that a copy shares with its model, return the path of the one that counts."""
        return (*self.path, key) if key in self.copy.model_fields_set else ("models", self.name, key)

    def lacking(self, key: str) -> KeyPath:
        """Given an option that nobody wrote, return where it belongs: a copy with another engine has its own."""
        return (*self.path, key) if self.resolved.engine != self.model.engine else ("models", self.name, key)


def copies(config: Config) -> Iterator[Placed]:
    """Given a configuration, yield each copy whose box is known, one for each box."""
    for name, model in config.models.items():
        for index, copy in enumerate(model.replicas):
            if copy.box in config.boxes and copy.box not in [other.box for other in model.replicas[:index]]:
                path = ("models", name, "replicas", index)
                modes = MODES if model.split is None else MODES[:1]
                yield Placed(path, name, model, copy, config.boxes[copy.box], config.resolve(name, copy), modes)


def groups(config: Config) -> Iterator[Placed]:
    """Given a configuration, yield each part of each group whose box is known, one for each box; the head first."""
    for name, model in config.models.items():
        split = model.split
        if split is None or any(box not in config.boxes for box in split.boxes):
            continue
        for resolved in dict(zip(split.boxes, config.parts(name), strict=True)).values():
            yield Placed(
                ("models", name, "split"),
                name,
                model,
                split.part(resolved.box),
                config.boxes[resolved.box],
                resolved,
                MODES[1:],
            )


def references(config: Config, names: list[str], path: KeyPath, *, managed: bool) -> Iterator[Problem]:
    """Given box names and their path, yield the unknown ones, those named twice, and those that should be managed."""
    for index, name in enumerate(names if config.boxes else ()):
        where = (*path, index)
        if name not in config.boxes:
            yield unknown(config, name, where)
        elif name in names[:index]:
            yield Problem(where, "each box once", f"{name} for the second time")
        elif managed and not config.boxes[name].managed:
            yield Problem(where, "a box that floor manages", f"{name}, a box with managed: false")


def unknown(config: Config, name: str, path: KeyPath) -> Problem:
    """Given a name that no box has, return what to say about it."""
    near = difflib.get_close_matches(name, config.boxes, 1, 0.6)
    write = near[0] if near else f"one of the boxes ({', '.join(config.boxes) or 'none yet'}), or add it to them"
    return Problem(path, write, f"{name}, which is not among the boxes")
