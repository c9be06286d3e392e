"""What a swap begins from, and what keeps it from beginning."""

from __future__ import annotations

import json
from pathlib import Path

from floor.config.load import parse
from floor.config.model import Config
from floor.errors import ConfigError, RefusedError, UsageError
from floor.operations.swap_back import works
from floor.plan import builds
from floor.plan.abandoned import SWAP, unfinished, ways
from floor.plan.aim import Aim
from floor.tooltest.report import result
from floor.tooltest.suite import read


def given(path: Path | None, model: str) -> str:
    """Given the file of a baseline that was made before (None: none was), return its text, empty for none. Raise
    UsageError for what is none, is of other scenarios, or of another model than that one."""
    if path is None:
        return ""
    found = result.read(path)
    if found.setting.get("suite") != read.digest():
        raise UsageError(f"{path}: is of other scenarios than this release has; make it anew")
    tested = str(found.tested.get("model", model))
    if tested.removesuffix(":latest") != model:  # Ollama's tag
        raise UsageError(f"{path}: is of {tested}, not of {model}; give one of the model that changes")
    return json.dumps(found.document(), ensure_ascii=False)


def means(text: str, other: str) -> bool:
    """Given two texts of floor.yaml, return whether they ask for the same: comments and order may differ."""
    try:
        return parse(text) == parse(other)
    except ConfigError:
        return False


def before(aim: Aim, model: str) -> dict[str, str]:
    """Given the aim and a model, return by backend the digest of the build before this swap: as the swap that was left
    had it, which may have brought another one since, else that of what runs and is to be replaced."""
    left = unfinished(aim.seen)
    kept: dict[str, str] = {}
    if left is not None and left.verb == SWAP and isinstance(left.target, dict) and left.target.get("model") == model:
        kept = {str(name): str(one) for name, one in (left.target.get("builds") or {}).items()}
    copies = [copy for copy in aim.copies if copy.model == model and builds.changing(aim, copy)]
    return {**{copy.backend: now.digest for copy in copies if (now := builds.running(aim, copy)) is not None}, **kept}


def alone(aim: Aim, model: str) -> frozenset[str]:
    """Given the aim and a model, return the model where nobody else can serve it meanwhile, else nothing: whoever swaps
    it then has asked for that."""
    return frozenset([model] if len(aim.config.backends(model, aim.mode)) < 2 else [])


def refuse(aim: Aim, config: Config, model: str) -> None:
    """Raise RefusedError where the model calls no tools, where an operation was left that has to be ended first, and
    where more differs from what is deployed than the model; UsageError where floor starts no copy of the model."""
    if config.models[model].task == "embed":
        raise RefusedError(f"{model}: embeds and calls no tools; `floor deploy --ungated` changes its build")
    if not any(copy.managed for copy in config.backends(model, aim.mode)):
        raise UsageError(f"{model}: floor starts no copy of it, so there is nothing to swap")
    left = unfinished(aim.seen)
    if left is not None and not works(left) and left.verb != "restart":
        same = left.verb == SWAP and isinstance(left.target, dict) and left.target.get("model") == model
        if not same and left.verb != "reboot":
            told = ways(left) or f"`floor {left.verb}` goes on with it"
            raise RefusedError(f"floor {left.verb} of {left.who}, operation {left.epoch}, did not end: {told}")
    for box, seen in aim.seen.items():
        what = _else(seen.config, config, model)
        if what:
            raise RefusedError(f"{box}: {what}; run `floor deploy` first: a swap changes the model {model} alone")


def _else(kept: str | None, config: Config, model: str) -> str:
    """What differs between the file that a box keeps and this one beside the model; empty where nothing does."""
    if kept is None:
        return "nothing was deployed there yet"
    try:
        there = parse(kept)
    except ConfigError:
        return "a floor.yaml was deployed there that this release does not read"
    if model not in there.models:
        return f"{model} was not deployed there yet"
    same = there.model_copy(update={"models": {**there.models, model: config.models[model]}})
    return "" if same == config else "another floor.yaml was deployed there"


def refuse_without_way_back(aim: Aim, model: str) -> None:
    """Raise RefusedError where the same words of floor.yaml have come to mean another build of the model."""
    for copy in (copy for copy in aim.copies if copy.model == model):
        if told := builds.changing(aim, copy):
            raise RefusedError(
                f"{copy.backend}: what floor.yaml says is another build now ({'; '.join(told)}), and nothing says "
                "what runs: there would be no way back. Write images with their digests; `floor deploy --ungated` "
                "takes it"
            )
