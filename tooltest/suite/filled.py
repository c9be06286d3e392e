"""A scenario with the values of one trial in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..contract.schema import same
from . import filler, nonces
from .scenario import Document, Scenario, Turn, Wanted


@dataclass(frozen=True)
class Filled:
    """`scenario` has no placeholder left; `trial` counts from 0."""

    scenario: Scenario
    trial: int


def fill(scenario: Scenario, seed: int, trial: int) -> Filled:
    """Given a scenario, the seed of the run and the number of the trial, return the scenario as it is asked then."""
    values = nonces.make(scenario.nonces, seed, scenario.id, trial)
    key = f"{seed} {scenario.id} {trial}"
    turns = tuple(_turn(turn, values, key) for turn in scenario.turns)
    history = tuple(nonces.fill(scenario.history, values))
    return Filled(
        replace(scenario, turns=turns, history=history, system=str(nonces.fill(scenario.system, values))), trial
    )


def _turn(turn: Turn, values: Mapping[str, nonces.Value], key: str) -> Turn:
    def said(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(nonces.fill(text, values)) for text in texts)

    user = str(nonces.fill(turn.user, values))
    if turn.document is not None:
        user = f"{user}\n\n{_document(turn.document, values, key)}"
    calls = tuple(
        Wanted(one.tool, nonces.fill(one.args, values), _result(nonces.fill(one.result, values), key))
        for one in turn.calls
    )
    reply = str(nonces.fill(turn.reply, values))
    says, says_any, never = said(turn.says), said(turn.says_any), said(turn.never)
    return replace(turn, user=user, calls=calls, reply=reply, document=None, says=says, says_any=says_any, never=never)


def _document(document: Document, values: Mapping[str, nonces.Value], key: str) -> str:
    return filler.text(document.tokens, str(nonces.fill(document.needle, values)), document.depth, key)


def _result(result: Any, key: str) -> Any:
    if isinstance(result, Mapping) and "$document" in result:
        return _document(Document(**result["$document"]), {}, key)
    return result


def content(result: Any) -> str:
    """A mock tool's result as the text of its message."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def plain(args: Any) -> Any:
    """Wanted arguments as a model would give them: matchers replaced by the first value that they take."""
    if isinstance(args, Mapping):
        for word in ("$like", "$text"):
            if word in args:
                return args[word]
        if "$in" in args:
            return args["$in"][0]
        return {key: plain(value) for key, value in args.items()}
    return [plain(one) for one in args] if isinstance(args, list) else args


def matches(wanted: Any, got: Any) -> bool:
    """Whether a value is what was wanted, types included (true is not 1, "1" is not 1; 1.0 is 1)."""
    if isinstance(wanted, Mapping):
        if "$like" in wanted:
            return isinstance(got, str) and got.strip().casefold() == wanted["$like"].casefold()
        if "$text" in wanted:
            return isinstance(got, str) and got.removesuffix("\n") == wanted["$text"].removesuffix("\n")
        if "$in" in wanted:
            return any(same(one, got) for one in wanted["$in"])
        return (
            isinstance(got, Mapping) and wanted.keys() == got.keys() and all(matches(wanted[k], got[k]) for k in wanted)
        )
    if isinstance(wanted, list):
        return isinstance(got, list) and len(wanted) == len(got) and all(map(matches, wanted, got))
    return same(wanted, got)
