"""Generations: a request decided, its tokens as they come, and the faults that meet it on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from floor.sim.asking import Asked
from floor.sim.dialects import CHAT, COMPLETION, Dialect
from floor.sim.engine import Generation
from floor.sim.exchange import Exchange, Gone, Reply
from floor.sim.journal import Entry
from floor.sim.refusals import Refusal, refusal
from floor.sim.shapes import Identity
from floor.sim.simulator import Simulator
from floor.sim.streams import DONE

Handler = Callable[[Simulator, Exchange, bytes, Entry], Awaitable[None]]

STOPPING = "cannot schedule new futures after shutdown"
DEAD_ENGINE = "EngineCore encountered an issue. See stack trace (above) for the root cause."


def by(dialect: Dialect) -> Handler:
    """The handler of a route that speaks `dialect`."""

    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
        await _generate(sim, exchange, entry, exchange.json(body), dialect)

    return answer


async def invocations(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
    """SageMaker's way in: whichever request the body fits."""
    content = exchange.json(body)
    await _generate(sim, exchange, entry, content, CHAT if "messages" in content else COMPLETION)


async def _generate(
    sim: Simulator, exchange: Exchange, entry: Entry, content: Mapping[str, Any], dialect: Dialect
) -> None:
    """Answer one generation request. Raises Refusal when it is not to be, Gone when the client left."""
    asked = dialect.decide(content, sim.settings, sim.served)
    if sim.desk is not None and dialect is CHAT:
        asked = sim.desk.answer(asked, content, sim.strike("tools"), len(sim.engine.scheduler.running), sim.new_id())
    if sim.stopping:
        raise refusal(500, STOPPING, "InternalServerError")
    if sim.lost:
        sim.fail()
        raise broken(500)
    silence = _strike_before(sim)
    generation = sim.engine.submit(asked, silence)
    exchange.watch(lambda: sim.engine.abort(generation))
    answer = _stream if asked.stream else _whole
    try:
        await answer(sim, exchange, generation, dialect)
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
        return refusal(status, DEAD_ENGINE, "InternalServerError")
    return refusal(status, "The server is overloaded or not ready yet.", "ServiceUnavailableError")


def _identity(sim: Simulator, dialect: Dialect) -> tuple[Identity, str]:
    """What the answer is called, and the id its tool call would have."""
    return Identity(dialect.prefix + sim.new_id(), int(time.time())), f"chatcmpl-tool-{sim.new_id()}"


async def _whole(sim: Simulator, exchange: Exchange, generation: Generation, dialect: Dialect) -> None:
    identity, call_id = _identity(sim, dialect)
    async for _ in generation.tokens():
        pass
    if generation.outcome == "aborted":
        raise Gone if exchange.has_left else broken(500)
    _count_tool_parser(sim, generation.asked, "non_streaming", generation.asked.choices, dialect)
    await exchange.reply(Reply.json(dialect.whole(generation.asked, identity, call_id)))


async def _stream(sim: Simulator, exchange: Exchange, generation: Generation, dialect: Dialect) -> None:
    asked = generation.asked
    stream = dialect.stream(asked, *_identity(sim, dialect))
    await exchange.start_events()
    sent = [0] * asked.choices
    async for choice in generation.tokens():
        await _strike_within(sim, exchange, sum(sent))
        if sum(sent) == 0:
            await exchange.write(stream.opening())
        await exchange.write(stream.token(choice, sent[choice]))
        sent[choice] += 1
    if generation.outcome == "aborted":
        await _break_off(exchange)
    _count_tool_parser(sim, asked, "streaming", sum(sent), dialect)
    await exchange.write(stream.ending(sum(sent)))
    await exchange.end()


async def _strike_within(sim: Simulator, exchange: Exchange, events: int) -> None:
    """Faults that meet a stream under way, when `events` tokens are out. Both end it: raises Gone."""
    for kind in ("truncate", "stream-error"):
        fault = sim.faults.get(kind, sim.now())
        if fault is None or events < fault.number("events"):
            continue
        sim.strike(kind)
        if kind == "truncate":
            await exchange.cut()
        await _break_off(exchange)


async def _break_off(exchange: Exchange) -> None:
    """End a stream as vLLM does when its engine is gone: an error event, and a proper end. Raises Gone."""
    error = json.dumps({"error": broken(500).error})
    await exchange.write(f"data: {error}\n\n".encode() + DONE)
    await exchange.end()
    raise Gone


def _count_tool_parser(sim: Simulator, asked: Asked, mode: str, times: int, dialect: Dialect) -> None:
    if sim.settings.auto_tools and dialect is CHAT:
        outcome = "tool_call" if asked.call else "no_tool_call"
        family = "vllm:tool_call_parser_invocations_total"
        sim.stats.count(family, times, mode=mode, outcome=outcome, request_type="chat_completions")
