"""Exchanges made by hand, and a perfect model with a fault to play whole trials with; no socket."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from floor.sim import dialects, faults
from floor.sim.book import Book
from floor.sim.refusals import Refusal
from floor.sim.settings import Settings
from floor.sim.shapes import Identity, encode
from floor.sim.tooling import Desk
from floor.tooltest.suite import book, read
from floor.tooltest.suite.filled import fill
from floor.tooltest.suite.scenario import Scenario
from floor.tooltest.trial.play import Request, Transcript, play
from floor.tooltest.trial.record import STREAMED, Record
from floor.tooltest.trial.recorded import record
from floor.tooltest.wire.exchange import Exchange

CASES = Path(__file__).parents[2] / "cases"
SETTINGS = Settings(max_model_len=131072, auto_tools=True, served_names=("m",))


def tool(name: str = "stock_level", **properties: Any) -> dict[str, Any]:
    """A tool whose properties are all required; without any it takes a part."""
    properties = properties or {"part": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": "…", "parameters": schema}}


def asked(*, stream: bool = False, tools: Sequence[Any] | None = None, **more: Any) -> dict[str, Any]:
    """A request."""
    messages = more.pop("messages", [{"role": "user", "content": "How many are there?"}])
    return {"model": "m", "messages": messages, "tools": tools or [tool()], "stream": stream, **more}


def called(name: str = "stock_level", arguments: Any = '{"part": "AB-1"}', id_: Any = "call_1") -> dict[str, Any]:
    """A call of a whole message."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def whole(
    message: Mapping[str, Any], finish: str = "", request: Mapping[str, Any] | None = None, **more: Any
) -> Exchange:
    """An exchange that was answered in one piece."""
    finish = finish or ("tool_calls" if message.get("tool_calls") else "stop")
    content = {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}], **more}
    return Exchange(request or asked(), 200, json.dumps(content).encode(), "application/json")


def streamed(body: bytes, request: Mapping[str, Any] | None = None) -> Exchange:
    """An exchange that was answered by a stream."""
    return Exchange(request or asked(stream=True), 200, body, "text/event-stream")


def events(deltas: Sequence[Any], finish: str | None = "stop") -> bytes:
    """A stream of these deltas, with its usual ends."""
    choices = [{"index": 0, "delta": one, "finish_reason": None} for one in ({"role": "assistant"}, *deltas)]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    return b"".join(f"data: {json.dumps({'choices': [one]})}\n\n".encode() for one in choices) + b"data: [DONE]\n\n"


def capture(path: str, *, stream: bool) -> Exchange:
    """An exchange recorded from a real server: status line, headers, a blank line, the body."""
    head, _, body = (CASES / path).read_bytes().replace(b"\r\n", b"\n").partition(b"\n\n")
    lines = head.decode().splitlines()
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return Exchange(asked(stream=stream), int(lines[0].split()[1]), body, headers["content-type"])


@cache
def the_book() -> Book:
    """The suite's answer book."""
    return Book(json.loads(book.text(read.suite())))


def scenario(name: str) -> Scenario:
    """A scenario of the suite by its id."""
    return next(one for one in read.suite() if one.id == name)


def transcript(one: Scenario, mode: str, what: str = "", trial: int = 0, seed: int = 0) -> Transcript:
    """A trial against the perfect model of the simulated engine, with the fault `what` of the kind `tools`."""
    desk = Desk(the_book())
    fault = faults.make("tools", {"what": what}) if what else None
    conversation = play(fill(one, seed, trial), Request("m", mode == STREAMED))
    body = next(conversation)
    for number in range(100):
        try:
            body = conversation.send(served(desk, body, fault, number))
        except StopIteration as end:
            found: Transcript = end.value
            return found
    raise AssertionError("a conversation without end")


def served(desk: Desk, body: dict[str, Any], fault: faults.Fault | None, number: int = 0, running: int = 1) -> Exchange:
    """What the simulated engine answers to a request; `number` makes the ids of its calls."""
    decided = dialects.CHAT.decide(body, SETTINGS, ("m",))
    try:
        answer = desk.answer(decided, body, fault, running, f"id{number}-")
    except Refusal as refusal:
        return Exchange(body, refusal.status, encode({"error": refusal.error}), "application/json")
    identity = Identity("chatcmpl-1", 0)
    if not body.get("stream"):
        return Exchange(body, 200, encode(dialects.CHAT.whole(answer, identity, "")), "application/json")
    stream = dialects.CHAT.stream(answer, identity, "")
    parts = [stream.opening(), *(stream.token(0, at) for at in range(len(answer.tokens)))]
    return Exchange(body, 200, b"".join([*parts, stream.ending(len(answer.tokens))]), "text/event-stream")


def played(one: Scenario, mode: str, what: str = "", trial: int = 0, seed: int = 0) -> Record:
    """The record of such a trial."""
    return record(one, trial, mode, transcript(one, mode, what, trial, seed), 1.0)
