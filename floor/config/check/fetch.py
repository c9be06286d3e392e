"""Fetch: one commit for each folder, and nothing that the engine would not find there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from floor.config.check import parts
from floor.config.model import Config, Fetch
from floor.config.problem import KeyPath, Problem

COMMIT = re.compile(r"[0-9a-f]{40}")


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with where its weights come from."""
    for name, model in config.models.items():
        if model.fetch:
            yield from _revision(name, model.fetch, ("models", name, "fetch"))
        for index, copy in enumerate(model.replicas):
            if copy.fetch:
                yield from _revision(name, copy.fetch, ("models", name, "replicas", index, "fetch"))
        if model.split and model.split.fetch:
            yield from _revision(name, model.split.fetch, ("models", name, "split", "fetch"))
    yield from _copies(config)


def _revision(name: str, fetch: Fetch, path: KeyPath) -> Iterator[Problem]:
    if not COMMIT.fullmatch(fetch.revision):
        write = f"the commit, 40 hex digits: `floor fetch --pin {name}` asks for it and writes it"
        yield Problem((*path, "revision"), write, f"{fetch.revision}, which may be other weights tomorrow")


def _copies(config: Config) -> Iterator[Problem]:
    first: dict[tuple[str, str], tuple[Fetch, str]] = {}
    for placed in (*parts.copies(config), *parts.groups(config)):
        fetch, source = placed.resolved.fetch, placed.resolved.source
        if fetch is None:
            continue
        if placed.resolved.engine == "ollama":
            write = "nothing here: Ollama keeps weights in a form of its own, `ollama pull` gets them"
            yield Problem(placed.where("fetch"), write)
        other, backend = first.setdefault((placed.resolved.box, source), (fetch, placed.resolved.backend))
        if other != fetch:
            yield Problem(placed.where("fetch"), f"another source, or the fetch of {backend}", f"{source} of {backend}")
