"""What a generation request asks for, checked and decided as a whole before its first token."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from floor.sim import tools
from floor.sim.refusals import check_fields, refusal, too_long, too_many, unknown_model
from floor.sim.said import Said
from floor.sim.settings import Settings
from floor.sim.wording import count_tokens, natural_length, split_tokens, words

MOST_CHOICES = 128


@dataclass(frozen=True)
class Call:
    """The tool call that an answer is."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Asked:
    """One request, decided: `tokens` is what each choice will be, `reasoning` how many of them are thinking.

    Where an answer book has the answer, `said` is it, and `deltas` are those of each token of its stream.
    """

    model: str
    prompt_tokens: int
    max_tokens: int
    tokens: tuple[str, ...]
    finish: str
    stop_reason: str | None
    reasoning: int
    call: Call | None
    choices: int
    stream: bool
    include_usage: bool
    each_usage: bool
    said: Said | None = None
    deltas: tuple[Sequence[Mapping[str, Any]], ...] = ()


def decide_chat(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A chat request decided. Raises Refusal."""
    check_fields(content, needed="messages")
    _check_model(content, served)
    messages = content["messages"]
    if not messages:
        message = "Cannot apply chat template to an empty conversation. Provide at least one message."
        raise refusal(400, message, "BadRequestError")
    text = "\n".join(_message_text(message) for message in messages)
    call = _call(content, settings, _last_user(messages))
    return _decide(content, settings, text, count_tokens(text) + 3 * len(messages), call)


def decide_completion(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A plain completion decided; the prompt is text, texts, or token numbers. Raises Refusal."""
    check_fields(content, needed="prompt")
    _check_model(content, served)
    prompt = content["prompt"]
    if isinstance(prompt, list) and all(isinstance(part, str) for part in prompt):
        prompt = "".join(prompt)
    tokens = count_tokens(prompt) if isinstance(prompt, str) else len(prompt)
    return _decide(content, settings, str(prompt), tokens, None)


def _check_model(content: Mapping[str, Any], served: tuple[str, ...]) -> None:
    model = content.get("model")
    if model is not None and model not in served:
        raise unknown_model(model, served)


def _message_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", part)) if isinstance(part, dict) else str(part) for part in content)
    calls = json.dumps(message["tool_calls"]) if message.get("tool_calls") else ""
    return f"{message.get('role')}: {content or ''}{calls}"


def _last_user(messages: list[Any]) -> str:
    """What the last message asks, if it is a person's; after a tool's result there is nothing more to call."""
    last = messages[-1] if messages else {}
    return _message_text(last) if last.get("role") == "user" else ""


def _call(content: Mapping[str, Any], settings: Settings, text: str) -> Call | None:
    offered = content.get("tools") or []
    choice = content.get("tool_choice") or "auto"
    if offered and choice == "auto" and not settings.auto_tools:
        message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        raise refusal(400, message, "BadRequestError")
    try:
        function = tools.choose(offered, choice, text)
    except KeyError:
        message = "The tool specified in `tool_choice` does not match any of the specified `tools`"
        raise refusal(400, f"{message} (parameter=tool_choice)", "BadRequestError", "tool_choice") from None
    if function is None:
        return None
    try:
        return Call(function["name"], tools.arguments(function))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        message = "The provided JSON schema contains features not supported by xgrammar."
        raise refusal(400, message, "BadRequestError", "tools") from None


def _decide(content: Mapping[str, Any], settings: Settings, text: str, prompt: int, call: Call | None) -> Asked:
    longest, simulation = settings.max_model_len, settings.simulation
    if prompt >= longest:
        raise too_long(longest)
    max_tokens = _max_tokens(content, longest, prompt)
    choices = _choices(content)
    tokens, finish, stop_reason = _answer(content, settings, text, max_tokens, call)
    options = content.get("stream_options") or {}
    return Asked(
        model=content.get("model") or settings.served_names[0],
        prompt_tokens=prompt,
        max_tokens=max_tokens,
        tokens=tuple(tokens),
        finish=finish,
        stop_reason=stop_reason,
        reasoning=0 if call else min(len(tokens), simulation.reasoning_tokens),
        call=call,
        choices=choices,
        stream=bool(content.get("stream")),
        include_usage=bool(options.get("include_usage")),
        each_usage=bool(options.get("continuous_usage_stats")),
    )


def _max_tokens(content: Mapping[str, Any], longest: int, prompt: int) -> int:
    """The most tokens this answer may have: as asked, but no more than there is room for."""
    name = "max_tokens" if content.get("max_completion_tokens") is None else "max_completion_tokens"
    asked = content.get(name)
    if asked is None:
        return longest - prompt
    if asked > longest:
        raise too_many(name, asked, longest)
    if asked < 1:
        message = f"{name} must be at least 1, got {asked}. (parameter={name}, value={asked})"
        raise refusal(400, message, "BadRequestError", name)
    return min(int(asked), longest - prompt)


def _choices(content: Mapping[str, Any]) -> int:
    choices = 1 if content.get("n") is None else int(content["n"])
    if choices < 1:
        raise refusal(400, f"n must be at least 1, got {choices}.", "BadRequestError")
    if choices > MOST_CHOICES:
        raise refusal(400, f"n must be at most {MOST_CHOICES}, got {choices}.", "BadRequestError")
    return choices


def _answer(
    content: Mapping[str, Any], settings: Settings, text: str, max_tokens: int, call: Call | None
) -> tuple[list[str], str, str | None]:
    """The tokens, why they end, and which stop text ended them. A call that was asked for by name ends in "stop"."""
    if call is not None:
        spoken = split_tokens(call.arguments)
        if len(spoken) > max_tokens:
            return spoken[:max_tokens], "length", None
        return spoken, "stop" if isinstance(content.get("tool_choice"), dict) else "tool_calls", None
    least = _min_tokens(content, max_tokens)
    key = f"{settings.simulation.seed} {content.get('seed')} {sha256(text.encode(errors='replace')).hexdigest()}"
    length = max_tokens + 1 if content.get("ignore_eos") else natural_length(key, *settings.simulation.answer_tokens)
    length = max(length, least)
    tokens = words(key, min(length, max_tokens))
    stops = content.get("stop") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        at = "".join(tokens).find(stop)
        if at >= 0:
            return _cut(tokens, at), "stop", stop
    return tokens, "stop" if length <= max_tokens else "length", None


def _min_tokens(content: Mapping[str, Any], max_tokens: int) -> int:
    least = int(content.get("min_tokens") or 0)
    if least < 0:
        raise refusal(400, f"min_tokens must be greater than or equal to 0, got {least}.", "BadRequestError")
    if least > max_tokens:
        message = f"min_tokens must be less than or equal to max_tokens={max_tokens}, got {least}."
        raise refusal(400, message, "BadRequestError")
    return least


def _cut(tokens: list[str], characters: int) -> list[str]:
    """As many tokens as it took to reach a stop text, less that text; one token (maybe empty) at least."""
    kept: list[str] = []
    for token in tokens:
        kept.append(token[: max(0, characters)])
        characters -= len(token)
        if characters <= 0:
            break
    return kept
