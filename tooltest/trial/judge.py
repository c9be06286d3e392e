"""What a trial is worth: 1, 0.5 where a harmless call too many was the only fault, or 0; and why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .play import Told, Transcript

FULL, HALF, NOTHING = 1.0, 0.5, 0.0
CUT = "cut off at the most tokens"


def judge(transcript: Transcript, turns: int) -> tuple[float, str]:
    """Given what happened in a scenario of so many turns, return its worth and the first thing that was wrong."""
    if transcript.failure:
        return NOTHING, transcript.failure
    for told in transcript.turns:
        if wrong := next(_wrong(told), None):
            return NOTHING, wrong
    if len(transcript.turns) < turns:
        return NOTHING, "it did not come to its last turn"
    extra = sum(told.tools.harmless for told in transcript.turns)
    return (HALF, f"{extra} harmless calls too many") if extra else (FULL, "")


def _wrong(told: Told) -> Iterator[str]:
    turn, tools, cut = told.turn, told.tools, f", {CUT}" if told.cut else ""
    if tools.strays:
        yield f"called {tools.strays[0]}{cut}"
    if told.cut and not told.ended:
        yield CUT
    if tools.left:
        yield f"did not call {tools.left[0].tool}{' as wanted' if told.called else ''}{cut}"
    if not told.ended:
        yield f"still called tools after {told.called} calls"
    if turn.together and told.together < len(turn.calls):
        yield f"at most {told.together} of {len(turn.calls)} calls came in one answer"
    yield from _unsaid(told)


def _unsaid(told: Told) -> Iterator[str]:
    words, cut = _normal(told.words), f", {CUT}" if told.cut else ""
    for text in told.turn.says:
        if _normal(text) not in words:
            yield f"did not say {text!r}{cut}"
    if told.turn.says_any and not any(_normal(text) in words for text in told.turn.says_any):
        yield f"said none of {', '.join(map(repr, told.turn.says_any))}{cut}"
    for text in told.turn.never:
        if _normal(text) in words:
            yield f"said {text!r}"


def _normal(text: str) -> str:
    """Words as they are compared: any case, any dash, digits without separators between them."""
    text = re.sub("[\u2010-\u2015\u2212]", "-", text.casefold())
    return re.sub(r"(?<=\d)[,\u202f\u00a0'](?=\d{3}\b)", "", text).replace("**", "")
