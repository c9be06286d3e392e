"""The one tool call of a warm-up: it loads what only a request with tools needs (parser, grammar, template branch)."""

from __future__ import annotations

from typing import Any

MOST_TOKENS = 64


def request(model: str) -> dict[str, Any]:
    """Given a served name, return the JSON body of a chat completion that asks for one tool call.

    `tool_choice` is left to the model: naming a tool would bypass the parser that is to be warmed.
    """
    return {
        "model": model,
        "messages": [{"role": "user", "content": "What is the weather in Oslo? Use the tool."}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "The weather in a city now",
                    "parameters": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}},
                        "required": ["city"],
                    },
                },
            }
        ],
        "tool_choice": "auto",
        "max_tokens": MOST_TOKENS,
        "temperature": 0,
        "stream": False,
    }
