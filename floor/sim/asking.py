"""What a generation request asks for, checked as vLLM checks it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from floor.sim import tools
from floor.sim.settings import Settings
from floor.sim.wording import count_tokens, natural_length, split_tokens, words


class Refusal(Exception):  # noqa: N818  # an HTTP answer, not an error of this program
    """The request gets this answer instead of what it asked for: a status and OpenAI's error object."""

    def __init__(self, status: int, error: Mapping[str, object]) -> None:
        super().__init__(error["message"])
        self.status = status
        self.error = error


def refusal(status: int, message: str, kind: str, param: str | None = None) -> Refusal:
    """A refusal as vLLM words it: all four fields, the code being the status."""
    return Refusal(status, {"message": message, "type": kind, "param": param, "code": status})


@dataclass(frozen=True)
class Call:
    """The tool call that an answer is."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Asked:
    """One request, decided: `tokens` is what each choice will be, `reasoning` how many of them are thinking."""

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


def read_json(body: bytes) -> dict[str, Any]:
    """The body as an object. Raises Refusal with the words FastAPI's validation has for it."""
    try:
        content = json.loads(body)
    except json.JSONDecodeError as error:
        detail = {
            "type": "json_invalid",
            "loc": f"body.{error.pos}",
            "msg": "JSON decode error",
            "input": "<dict of 0 items>",
            "ctx": {"error": error.msg},
        }
        raise _invalid(detail) from None
    except UnicodeDecodeError:
        raise refusal(400, "There was an error parsing the body", "Bad Request", None) from None
    if not isinstance(content, dict):
        kind = type(content).__name__
        message = "Input should be a valid dictionary"
        raise _invalid({"type": "dict_type", "loc": "body", "msg": message, "input": f"<{kind}>"})
    return content


def _invalid(detail: Mapping[str, object]) -> Refusal:
    return refusal(400, f"1 validation error:\n  {dict(detail)!r}", "Bad Request", str(detail["loc"]))


def _missing(name: str, content: Mapping[str, object]) -> Refusal:
    found = f"<dict of {len(content)} items>"
    return _invalid({"type": "missing", "loc": f"body.{name}", "msg": "Field required", "input": found})


def decide_chat(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A chat request decided. Raises Refusal."""
    messages = content.get("messages")
    if not isinstance(messages, list):
        raise _missing("messages", content)
    _check_model(content, served)
    text = "\n".join(_message_text(message) for message in messages)
    call = _call(content, settings, _last_user(messages))
    return _decide(content, settings, text, count_tokens(text) + 3 * len(messages), call)


def decide_completion(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A plain completion decided; the prompt is a text or a list of token numbers. Raises Refusal."""
    prompt = content.get("prompt")
    if prompt is None:
        raise _missing("prompt", content)
    _check_model(content, served)
    if isinstance(prompt, list) and all(isinstance(part, str) for part in prompt):
        prompt = "".join(prompt)
    tokens = count_tokens(prompt) if isinstance(prompt, str) else len(prompt)
    return _decide(content, settings, str(prompt), tokens, None)


def _check_model(content: Mapping[str, Any], served: tuple[str, ...]) -> None:
    model = content.get("model")
    if model is not None and model not in served:
        message = f"The model `{model}` does not exist. Valid aliases: {', '.join(served)}."
        raise refusal(404, message, "NotFoundError", "model")


def _message_text(message: object) -> str:
    if not isinstance(message, Mapping):
        return str(message)
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", part)) for part in content if isinstance(part, Mapping))
    calls = json.dumps(message["tool_calls"]) if message.get("tool_calls") else ""
    return f"{message.get('role')}: {content or ''}{calls}"


def _last_user(messages: list[Any]) -> str:
    """What the last message asks, if it is a person's; after a tool's result there is nothing more to call."""
    last = messages[-1] if messages else None
    return _message_text(last) if isinstance(last, Mapping) and last.get("role") == "user" else ""


def _call(content: Mapping[str, Any], settings: Settings, text: str) -> Call | None:
    offered = content.get("tools") or []
    choice = content.get("tool_choice", "auto")
    if offered and choice == "auto" and not settings.auto_tools:
        message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
        raise refusal(400, message, "BadRequestError", None)
    try:
        function = tools.choose(offered, choice, text)
    except KeyError:
        message = "The tool specified in `tool_choice` does not match any of the specified `tools`"
        raise refusal(400, message, "BadRequestError", "tool_choice") from None
    return None if function is None else Call(str(function.get("name")), tools.arguments(function))


def _decide(content: Mapping[str, Any], settings: Settings, text: str, prompt: int, call: Call | None) -> Asked:
    room = settings.max_model_len - prompt
    if room < 1:
        raise _too_long(settings.max_model_len)
    limit = content.get("max_completion_tokens") or content.get("max_tokens")
    max_tokens = room if limit is None else _whole(content, limit)
    if max_tokens > room:
        raise _too_many(max_tokens, settings.max_model_len, prompt)
    key = f"{settings.simulation.seed} {content.get('seed')} {sha256(text.encode()).hexdigest()}"
    tokens, finish, stop_reason = _answer(content, settings, key, max_tokens, call)
    options = content.get("stream_options") or {}
    return Asked(
        model=str(content.get("model") or settings.served_names[0]),
        prompt_tokens=prompt,
        max_tokens=max_tokens,
        tokens=tuple(tokens),
        finish=finish,
        stop_reason=stop_reason,
        reasoning=0 if call else min(len(tokens), settings.simulation.reasoning_tokens),
        call=call,
        choices=int(content.get("n") or 1),
        stream=bool(content.get("stream")),
        include_usage=bool(options.get("include_usage")),
        each_usage=bool(options.get("continuous_usage_stats")),
    )


def _answer(
    content: Mapping[str, Any], settings: Settings, key: str, max_tokens: int, call: Call | None
) -> tuple[list[str], str, str | None]:
    """The tokens, why they end, and which stop text ended them."""
    if call is not None:
        spoken = split_tokens(call.arguments)
        return (spoken, "tool_calls", None) if len(spoken) <= max_tokens else (spoken[:max_tokens], "length", None)
    shortest, longest = settings.simulation.answer_tokens
    length = max_tokens if content.get("ignore_eos") else natural_length(key, shortest, longest)
    length = max(length, int(content.get("min_tokens") or 0))
    tokens = words(key, min(length, max_tokens))
    stops = content.get("stop") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        at = "".join(tokens).find(str(stop))
        if at >= 0:
            return _cut(tokens, at), "stop", str(stop)
    return tokens, "stop" if length <= max_tokens and not content.get("ignore_eos") else "length", None


def _cut(tokens: list[str], characters: int) -> list[str]:
    """As many tokens as it took to reach a stop text, less that text; one token (maybe empty) at least."""
    kept: list[str] = []
    for token in tokens:
        kept.append(token[: max(0, characters)])
        characters -= len(token)
        if characters <= 0:
            break
    return kept


def _whole(content: Mapping[str, Any], limit: object) -> int:
    name = "max_completion_tokens" if content.get("max_completion_tokens") else "max_tokens"
    if not isinstance(limit, int) or isinstance(limit, bool):
        message = "Input should be a valid integer"
        raise _invalid({"type": "int_type", "loc": f"body.{name}", "msg": message, "input": limit})
    if limit < 1:
        raise refusal(400, f"{name} must be at least 1, got {limit}.", "BadRequestError", name)
    return limit


def _too_long(longest: int) -> Refusal:
    message = (
        f"This model's maximum context length is {longest} tokens. However, your prompt contains at least "
        f"{longest + 1} input tokens, which exceeds this limit even without any output tokens. Please reduce "
        f"the length of the input prompt. (parameter=input_tokens, value={longest + 1})"
    )
    return refusal(400, message, "BadRequestError", "input_tokens")


def _too_many(asked: int, longest: int, prompt: int) -> Refusal:
    message = (
        f"'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context length is "
        f"{longest} tokens and your request has {prompt} input tokens ({asked} > {longest} - {prompt}). "
        f"(parameter=max_tokens, value={asked})"
    )
    return refusal(400, message, "BadRequestError", "max_tokens")
