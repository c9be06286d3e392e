"""Marks by which models write tool calls, turns and thoughts: none of them may be left for a client to see.

They are the tags that the parsers of vLLM (vllm/tool_parsers), SGLang and llama.cpp (common/chat.cpp) take away.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..wire import strict

_BAR, _SPACE = "\uff5c", "\u2581"  # what DeepSeek's tags are made of
CALLS = (
    *("<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<|tool_call|>", "<|tool_call>", "<tool_call|>"),
    *("[TOOL_CALLS]", "[TOOL_REQUEST]", "<TOOLCALL>", "<|python_tag|>", "<function=", "</function>", "functools["),
    *("<parameter=", "</parameter>", "<function_call>", "<start_function_call>", "<|tool_calls_section_begin|>"),
    *("<|tool_call_begin|>", "<minimax:tool_call>", "<invoke name=", "<arg_key>", "<arg_value>", "<|action_start|>"),
    *("<|plugin|>", "<longcat_tool_call>", "<seed:tool_call>", "<|channel|>", "<|call|>", "<|tool_call_start|>"),
    *("<|tool_list_start|>", f"<{_BAR}tool{_SPACE}call", f"<{_BAR}DSML{_BAR}"),
)
TURNS = (
    *("<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<|eot_id|>", "<|eom_id|>", "<|end|>"),
    *("[/INST]", "<|start_header_id|>", "<|endoftext|>", f"<{_BAR}end{_SPACE}of{_SPACE}sentence{_BAR}>"),
)
THOUGHTS = ("<think>", "</think>")


def found(text: str, known: str, *, thoughts: bool = True) -> str | None:
    """The first mark in `text` that is not in `known`, which is what the request itself said; None without one."""
    marks = CALLS + TURNS + (THOUGHTS if thoughts else ())
    return next((mark for mark in marks if mark in text and mark not in known), None)


def bare_call(text: str, tools: Collection[str]) -> str | None:
    """The tool whose call `text` is as plain JSON, with or without a fence; None where it is something else."""
    inner = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not inner.startswith(("{", "[")):
        return None
    try:
        content: Any = strict.loads(inner)
    except ValueError:
        return None
    listed = content if isinstance(content, list) else [content]
    calls = [one.get("function", one) for one in listed if isinstance(one, dict)]
    named = [one for one in calls if isinstance(one, dict) and ("arguments" in one or "parameters" in one)]
    return next((name for one in named if isinstance(name := one.get("name"), str) and name in tools), None)
