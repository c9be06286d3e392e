"""What `floor swap` writes into floor.yaml: another source, image or argument of one model. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from floor.config import edit
from floor.config.load import Loaded, examine
from floor.config.model import Config, Model
from floor.config.problem import KeyPath
from floor.errors import UsageError


@dataclass(frozen=True)
class Wish:
    """What becomes another: the folder of the weights, where these come from (ORG/NAME@COMMIT, or `none`), the engine's
    image, and arguments as NAME=VALUE. None, and nothing, leave things as the file has them."""

    source: str | None = None
    fetch: str | None = None
    image: str | None = None
    args: Sequence[str] = ()

    @property
    def anything(self) -> bool:
        """Whether the file is to be edited at all."""
        return bool(self.args) or any(one is not None for one in (self.source, self.fetch, self.image))


def edited(loaded: Loaded, model: str, wish: Wish) -> Loaded:
    """Given a loaded floor.yaml, a model and what is wished, return it with that in it. Raise UsageError for a model
    that is not there and for what cannot be meant, ConfigError where the file would be wrong."""
    known = loaded.config.models
    if model not in known:
        raise UsageError(f"{model}: no model of that name; there are {', '.join(known)}")
    text = loaded.text
    for path, value in _values(known[model], wish):
        text = edit.set_value(text, ("models", model, *path), value, str(loaded.path))
    config, warnings = examine(text, str(loaded.path))
    return Loaded(config, text, loaded.path, warnings)


def own(config: Config, model: str, wish: Wish) -> list[str]:
    """Given the config, return a line for each copy, and the group, that has something of its own in place of what is
    wished, and so keeps it."""
    found = []
    there = config.models[model]
    parts = [(f"{model}@{copy.box}", copy) for copy in there.replicas]
    parts += [(f"the split of {model}", there.split)] if there.split else []  # type: ignore[list-item] # alike in this
    for name, part in parts:
        kept = [word for word, given in (("source", wish.source), ("runtime", wish.image)) if given is not None]
        kept = [word for word in kept if getattr(part, word) is not None]
        kept += [f"args.{key}" for key in (_pair(one)[0] for one in wish.args) if key in part.args]
        found += [f"{name} has its own {word}, which stays as it is" for word in kept]
    return found


def _values(model: Model, wish: Wish) -> list[tuple[KeyPath, Any]]:
    found: list[tuple[KeyPath, Any]] = []
    if wish.source is not None:
        found.append((("source",), wish.source))
    if wish.fetch is not None:
        found.append((("fetch",), _fetch(wish.fetch)))
    elif wish.source not in (None, model.source) and model.fetch is not None:
        raise UsageError(
            f"--to {wish.source}: floor.yaml says where the present weights come from (fetch: {model.fetch.repo}); say "
            "where the new ones do with --fetch ORG/NAME@COMMIT, or --fetch none"
        )
    if wish.image is not None:
        if model.runtime is None or model.runtime.kind != "docker":
            raise UsageError("--image: the model does not run in a container; its runtime is written in floor.yaml")
        found.append((("runtime", "image"), wish.image))
    return found + [(("args", key), value) for key, value in map(_pair, wish.args)]


def _fetch(text: str) -> dict[str, str] | None:
    if text == "none":
        return None
    repo, at, revision = text.partition("@")
    if not (repo and at and revision):
        raise UsageError(f"--fetch {text}: write ORG/NAME@COMMIT, or none")
    return {"repo": repo, "revision": revision}


def _pair(text: str) -> tuple[str, Any]:
    """NAME=VALUE; the value is JSON where it can be read as that, which NaN and Infinity are not, else a text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"--args {text}: write NAME=VALUE, such as tool-call-parser=hermes")
    try:
        found = json.loads(value)
        json.dumps(found, allow_nan=False)
    except ValueError:
        found = value
    return name.removeprefix("--"), found
