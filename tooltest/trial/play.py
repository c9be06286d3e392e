"""The conversation of one trial, as a generator: it yields requests, is sent exchanges, and returns what happened."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..contract import calls, checks
from ..suite.filled import Filled, plain
from ..suite.scenario import Turn
from ..wire import reading, strict
from ..wire.answer import Answer, Call
from ..wire.exchange import Exchange
from .mock import Tools

MOST_STEPS = 8  # answers with calls in one turn
Play = Generator[dict[str, Any], Exchange, "Transcript"]


@dataclass(frozen=True)
class Request:
    """What goes with each request besides messages and tools: served name, streamed or not, sampling.
    `system` comes before the scenario's own system prompt."""

    model: str
    stream: bool
    sampling: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""


@dataclass
class Told:
    """What became of a turn. `together`: the most wanted calls that one answer brought. `words`: of its last answer."""

    turn: Turn
    tools: Tools
    together: int = 0
    words: str = ""
    called: int = 0
    cut: bool = False
    ended: bool = False


@dataclass
class Transcript:
    """`checks`: each contract check that applied, "" where it held every time, else what was wrong the first time.

    `first_calls`: whether the first answer called anything, None without an answer. `failure`: why there was none.
    """

    turns: list[Told] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    checks: dict[str, str] = field(default_factory=dict)
    first_calls: bool | None = None
    failure: str = ""


def play(filled: Filled, request: Request) -> Play:
    """Given a filled scenario, lead its conversation. Ends at the first request that gets no answer."""
    scenario, transcript = filled.scenario, Transcript()
    messages: list[dict[str, Any]] = [dict(one) for one in scenario.history]
    if system := "\n\n".join(filter(None, (request.system, scenario.system))):
        messages.insert(0, {"role": "system", "content": system})
    foreign, own = bool(scenario.history), False
    for turn in scenario.turns:
        messages.append({"role": "user", "content": turn.user})
        told = Told(turn, Tools(scenario, turn))
        transcript.turns.append(told)
        wanted = [(one.tool, plain(one.args)) for one in turn.calls]
        for step in range(MOST_STEPS):
            body = _body(filled, request, messages, turn, step)
            exchange = yield body
            answer = reading.read(exchange)
            transcript.exchanges.append(exchange)
            transcript.answers.append(answer)
            _hold(transcript.checks, checks.check(exchange, answer, own=own, foreign=foreign, wanted=wanted))
            if not exchange.answered or answer.malformed:
                transcript.failure = exchange.said if not exchange.answered else f"malformed: {answer.malformed[0]}"
                return transcript
            if transcript.first_calls is None:
                transcript.first_calls = bool(answer.calls)
            told.cut = answer.finish == "length"
            if not answer.calls:
                told.words, told.ended = answer.content, True
                messages.append({"role": "assistant", "content": answer.content})
                break
            own = True
            _take(messages, answer, told)
            if turn.until_called and not told.tools.left:
                told.ended = True
                break
        if not told.ended:
            return transcript
    return transcript


def _body(filled: Filled, request: Request, messages: list[dict[str, Any]], turn: Turn, step: int) -> dict[str, Any]:
    body: dict[str, Any] = {"model": request.model, "messages": list(messages), "tools": list(filled.scenario.tools)}
    choice = turn.choice if step == 0 else "auto"
    if isinstance(choice, Mapping):
        body["tool_choice"] = {"type": "function", "function": {"name": choice["tool"]}}
    elif choice != "auto":
        body["tool_choice"] = choice
    if not turn.parallel:
        body["parallel_tool_calls"] = False
    body.update(request.sampling)
    if request.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def _hold(found: dict[str, str], more: Mapping[str, str]) -> None:
    for name, wrong in more.items():
        found[name] = found.get(name) or wrong


def _take(messages: list[dict[str, Any]], answer: Answer, told: Told) -> None:
    """The server's own calls go back to it, with the results of the mock tools."""
    before = len(told.tools.left)
    made, results = [], []
    for at, call in enumerate(answer.calls):
        found = calls.arguments(call)
        id_ = call.id if isinstance(call.id, str) and call.id else f"call_without_id_{told.called + at}"
        results.append({"role": "tool", "tool_call_id": id_, "content": told.tools.call(call.name, found)})
        made.append(_own(call, id_))
    told.called += len(made)
    told.together = max(told.together, before - len(told.tools.left))
    messages.append({"role": "assistant", "content": answer.content or None, "tool_calls": made})
    messages.extend(results)


def _own(call: Call, id_: str) -> dict[str, Any]:
    """A call as it goes back. What is no text at all becomes the text that every template can read."""
    arguments = call.arguments if isinstance(call.arguments, str) and _is_json(call.arguments) else "{}"
    name = call.name if isinstance(call.name, str) else ""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_json(text: str) -> bool:
    try:
        strict.loads(text)
    except ValueError:
        return False
    return True
