"""The four APIs through which vLLM generates: how each is asked, and how each answers whole and streamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from floor.sim import messages, responses, shapes
from floor.sim.asking import Asked, decide_chat, decide_completion
from floor.sim.settings import Settings
from floor.sim.shapes import Identity, JsonObject
from floor.sim.streams import ChatStream, CompletionStream, Stream


@dataclass(frozen=True)
class Dialect:
    """`prefix` begins its ids. `decide` may raise Refusal. `whole` and `stream` are given a tool call's id last."""

    prefix: str
    decide: Callable[[Mapping[str, Any], Settings, tuple[str, ...]], Asked]
    whole: Callable[[Asked, Identity, str], JsonObject]
    stream: Callable[[Asked, Identity, str], Stream]


CHAT = Dialect("chatcmpl-", decide_chat, shapes.chat, ChatStream)
COMPLETION = Dialect(
    "cmpl-",
    decide_completion,
    lambda asked, identity, _: shapes.completion(asked, identity),
    lambda asked, identity, _: CompletionStream(asked, identity),
)
MESSAGES = Dialect("chatcmpl-", messages.decide, messages.whole, messages.MessageStream)
RESPONSES = Dialect("resp_", responses.decide, responses.whole, responses.ResponseStream)
