"""Generations: chat and completions, streamed and not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from floor.sim import shapes
from floor.sim.asking import Asked, Refusal, decide_chat, decide_completion, read_json
from floor.sim.engine import Generation
from floor.sim.exchange import Exchange, Gone, Reply
from floor.sim.journal import Entry
from floor.sim.shapes import ChatStream, CompletionStream, Identity
from floor.sim.simulator import Simulator

Decide = Callable[[Mapping[str, Any], Any, tuple[str, ...]], Asked]

DEAD_ENGINE = {
    "message": "EngineCore encountered an issue. See stack trace (above) for the root cause.",
    "type": "InternalServerError",
    "param": None,
    "code": 500,
}


async def chat(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
    await _generate(sim, exchange, entry, read_json(body), decide_chat)


async def completions(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
    await _generate(sim, exchange, entry, read_json(body), decide_completion)


async def invocations(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
    """SageMaker's way in: whichever request the body fits."""
    content = read_json(body)
    await _generate(sim, exchange, entry, content, decide_chat if "messages" in content else decide_completion)


async def _generate(
    sim: Simulator, exchange: Exchange, entry: Entry, content: Mapping[str, Any], decide: Decide
) -> None:
    """Answer one generation request. Raises Refusal when it is not to be, Gone when the client left."""
    asked = decide(content, sim.settings, sim.served)
    generation = sim.engine.submit(asked, _strike_before(sim))
    exchange.watch(lambda: sim.engine.abort(generation))
    try:
        if asked.stream:
            await _stream(sim, exchange, generation, decide is decide_chat)
        else:
            await _whole(sim, exchange, generation, decide is decide_chat)
    finally:
        entry.tokens = generation.generated
        sim.engine.abort(generation)


def _strike_before(sim: Simulator) -> float:
    """Faults that meet a generation before it starts. Returns seconds of silence that its prefill gets on top."""
    if (die := sim.faults.get("die", sim.now())) and die.options["on"] == "request":
        sim.die(die)
    if error := sim.strike("error"):
        raise broken(int(error.number("status")))
    prefill = sim.strike("prefill")
    if prefill is None:
        return 0.0
    seconds = prefill.number("seconds")
    if not prefill.options["block"]:
        return seconds
    # The event loop stands still on purpose: that is what a long prompt does to a real engine's /health.
    time.sleep(seconds)
    sim.engine.delay(seconds)
    return 0.0


def broken(status: int) -> Refusal:
    """A server error as vLLM answers it."""
    if status == 500:
        return Refusal(500, DEAD_ENGINE["message"], DEAD_ENGINE["type"], None)  # type: ignore[arg-type]  # two texts
    return Refusal(status, "The server is overloaded or not ready yet.", "ServiceUnavailableError", None)


def _identity(sim: Simulator, chat: bool) -> Identity:
    return Identity(("chatcmpl-" if chat else "cmpl-") + sim.new_id(), int(time.time()))


async def _whole(sim: Simulator, exchange: Exchange, generation: Generation, chat: bool) -> None:
    identity = _identity(sim, chat)
    async for _ in generation.tokens():
        pass
    if generation.outcome == "aborted":
        raise Gone
    asked = generation.asked
    call_id = f"chatcmpl-tool-{sim.new_id()}"
    content = shapes.chat(asked, identity, call_id) if chat else shapes.completion(asked, identity)
    _count_tool_parser(sim, asked, "non_streaming", asked.choices, chat)
    await exchange.reply(Reply.json(content))


async def _stream(sim: Simulator, exchange: Exchange, generation: Generation, chat: bool) -> None:
    asked = generation.asked
    identity = _identity(sim, chat)
    stream = ChatStream(asked, identity, f"chatcmpl-tool-{sim.new_id()}") if chat else CompletionStream(asked, identity)
    await exchange.start_events()
    sent = [0] * asked.choices
    async for choice in generation.tokens():
        if sent[choice] == 0:
            await _write(sim, exchange, stream.opening(choice))
        await _strike_within(sim, exchange, sum(sent))
        content = stream.token(choice, sent[choice])
        sent[choice] += 1
        await _write(sim, exchange, content | _running_usage(asked, sum(sent)))
        if sent[choice] == len(asked.tokens):
            await _write(sim, exchange, stream.closing(choice))
    if generation.outcome == "aborted":
        raise Gone
    _count_tool_parser(sim, asked, "streaming", sum(sent), chat)
    if asked.include_usage:
        await _write(sim, exchange, stream.usage(sum(sent)))
    await exchange.write(shapes.DONE)
    await exchange.write(b"", more=False)


async def _write(sim: Simulator, exchange: Exchange, content: Mapping[str, Any] | None) -> None:
    if content is not None:
        await exchange.write(shapes.event(content))


def _running_usage(asked: Asked, generated: int) -> dict[str, Any]:
    return {"usage": shapes.usage(asked, generated)} if asked.each_usage else {}


async def _strike_within(sim: Simulator, exchange: Exchange, events: int) -> None:
    """Faults that meet a stream under way, before its event number `events` + 1."""
    for kind in ("truncate", "stream-error"):
        fault = sim.faults.get(kind, sim.now())
        if fault is None or events < fault.number("events"):
            continue
        sim.strike(kind)
        if kind == "stream-error":
            await exchange.write(shapes.event({"error": DEAD_ENGINE}) + shapes.DONE)
            await exchange.write(b"", more=False)
            raise Gone
        await exchange.cut()


def _count_tool_parser(sim: Simulator, asked: Asked, mode: str, times: int, chat: bool) -> None:
    if sim.settings.auto_tools and chat:
        outcome = "tool_call" if asked.call else "no_tool_call"
        family = "vllm:tool_call_parser_invocations_total"
        sim.stats.count(family, times, mode=mode, outcome=outcome, request_type="chat_completions")
