"""Requests that get an error instead of what they ask for, in vLLM's and FastAPI's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any


class Refusal(Exception):  # noqa: N818  # an HTTP answer, not an error of this program
    """The request gets this answer instead of what it asked for: a status and OpenAI's error object."""

    def __init__(self, status: int, error: Mapping[str, object]) -> None:
        super().__init__(error["message"])
        self.status = status
        self.error = error


def refusal(status: int, message: str, kind: str, param: str | None = None) -> Refusal:
    """A refusal as vLLM words it: all four fields, the code being the status."""
    return Refusal(status, {"message": message, "type": kind, "param": param, "code": status})


def invalid(kind: str, place: str, message: str, found: object, **context: object) -> Refusal:
    """What validation answers; `place` is a dotted path from `body` on."""
    detail = {"type": kind, "loc": place, "msg": message, "input": _shown(found)}
    if context:
        detail["ctx"] = context
    return refusal(400, f"1 validation error:\n  {detail!r}", "Bad Request", place)


def _shown(found: object) -> object:
    if isinstance(found, dict):
        return f"<dict of {len(found)} items>"
    return f"<list of {len(found)} items>" if isinstance(found, list) else found


def read_json(body: bytes) -> dict[str, Any]:
    """The body as an object. Raises Refusal."""
    try:
        content = json.loads(body)
    except json.JSONDecodeError as error:
        raise invalid("json_invalid", f"body.{error.pos}", "JSON decode error", {}, error=error.msg) from None
    except (UnicodeDecodeError, RecursionError):
        raise refusal(400, "There was an error parsing the body", "Bad Request") from None
    if not isinstance(content, dict):
        message = "Input should be a valid dictionary or object to extract fields from"
        raise invalid("model_attributes_type", "body", message, content)
    return content


Fits = Callable[[Any], bool]


def _whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(part, str) for part in value))


def _prompt(value: Any) -> bool:
    return _texts(value) or (isinstance(value, list) and all(_whole_number(part) for part in value))


def _messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) and "role" in part for part in value)


def _tools(value: Any) -> bool:
    return isinstance(value, list) and all(_tool(part) for part in value)


def _tool(value: Any) -> bool:
    function = value.get("function") if isinstance(value, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _choice(value: Any) -> bool:
    named = value.get("function") if isinstance(value, dict) else None
    return isinstance(value, str) or (isinstance(named, dict) and isinstance(named.get("name"), str))


def _kind(kind: type) -> Fits:
    return lambda value: isinstance(value, kind)


# What each field must be when it is given and not null: pydantic's error type, its message, the check.
_INTEGER = ("int_type", "Input should be a valid integer", _whole_number)
_BOOLEAN = ("bool_type", "Input should be a valid boolean", _kind(bool))
_LIST = ("list_type", "Input should be a valid list")
_FIELDS: dict[str, tuple[str, str, Fits]] = {
    "model": ("string_type", "Input should be a valid string", _kind(str)),
    "messages": (*_LIST, _messages),
    "prompt": ("string_type", "Input should be a valid string or list of tokens", _prompt),
    "tools": (*_LIST, _tools),
    "tool_choice": ("literal_error", "Input should be 'none', 'auto', 'required' or a named tool", _choice),
    "stop": (*_LIST, _texts),
    "stream_options": ("dict_type", "Input should be a valid dictionary", _kind(dict)),
    "stream": _BOOLEAN,
    "ignore_eos": _BOOLEAN,
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "min_tokens", "n", "seed"), _INTEGER),
}


def check_fields(content: Mapping[str, Any], needed: str) -> None:
    """Raise Refusal when a known field has the wrong type, or `needed` is missing. Unknown fields are welcome."""
    if content.get(needed) is None:
        raise invalid("missing", f"body.{needed}", "Field required", dict(content))
    for name, (kind, message, fits) in _FIELDS.items():
        value = content.get(name)
        if value is not None and not fits(value):
            if kind == "int_type" and isinstance(value, str):
                kind, message = "int_parsing", f"{message}, unable to parse string as an integer"
            raise invalid(kind, f"body.{name}", message, value)


def too_long(longest: int) -> Refusal:
    """The prompt alone is beyond the context of `longest` tokens."""
    message = (
        f"This model's maximum context length is {longest} tokens. However, your prompt contains at least "
        f"{longest + 1} input tokens, which exceeds this limit even without any output tokens. Please reduce "
        f"the length of the input prompt. (parameter=input_tokens, value={longest + 1})"
    )
    return refusal(400, message, "BadRequestError", "input_tokens")


def too_many(name: str, asked: int, longest: int) -> Refusal:
    """More output tokens are asked for, by the field `name`, than the whole context has."""
    message = (
        f"{name}={asked} cannot be greater than max_model_len={longest}. Please request fewer output tokens. "
        f"(parameter={name}, value={asked})"
    )
    return refusal(400, message, "BadRequestError", name)


def unknown_model(model: str, served: tuple[str, ...]) -> Refusal:
    message = f"The model `{model}` does not exist. Valid aliases: {', '.join(served)}."
    return refusal(404, message, "NotFoundError", "model")
