"""What a trial leaves behind: from a transcript to a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..contract import names
from ..suite.scenario import Scenario
from ..wire.exchange import Exchange
from .judge import judge
from .play import Transcript
from .record import Record

LONGEST = 4000  # characters of one text that are kept of a failure's exchange


def record(scenario: Scenario, trial: int, mode: str, transcript: Transcript, seconds: float) -> Record:
    """Given what happened in a trial, return its record; raw exchanges are kept where something was wrong."""
    score, reason = judge(transcript, len(scenario.turns))
    failed = score < 1 or any(transcript.checks.values())
    last = transcript.exchanges[-1] if transcript.exchanges else None
    first = transcript.answers[0] if transcript.answers else None
    tool = next((one.first_tool_byte for one in transcript.answers if one.first_tool_byte is not None), None)
    return Record(
        scenario=scenario.id,
        kind=scenario.kind,
        trial=trial,
        mode=mode,
        score=score,
        reason=reason,
        checks=dict(transcript.checks),
        first_calls=transcript.first_calls,
        error="" if last is None or last.answered else last.said[:200],
        seconds=round(seconds, 3),
        first_token=None if first is None else first.first_token,
        first_tool_byte=tool,
        tokens=sum(one.completion_tokens or 0 for one in transcript.answers),
        exchanges=tuple(map(raw, transcript.exchanges)) if failed else (),
    )


def raw(exchange: Exchange) -> Mapping[str, Any]:
    """An exchange as the report shows it: request and answer as they were, long texts cut in their middle."""
    return {
        "request": _short(exchange.request),
        "status": exchange.status,
        "content_type": exchange.content_type,
        "body": _cut(exchange.body.decode("utf-8", "replace")),
        "failure": exchange.failure,
        "seconds": round(exchange.seconds, 3),
    }


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list) else value


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} […{len(text) - 2 * half} characters…] {text[-half:]}"


def unanswered(one: Record) -> bool:
    """Whether a trial ended without an answer: its endpoint failed, not the model."""
    broken = any(one.checks.get(name) for name in (names.ACCEPTED, names.HISTORY_ACCEPTED, names.OWN_CALL_ACCEPTED))
    return bool(one.error) and not broken
