"""What stands beside the score: the tokens of fixed prompts, A-B-A, and 1 against 16 at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..suite.scenario import Scenario
from ..trial.record import mode
from ..verdict import statistics
from ..wire import reading
from .plan import Trial
from .runner import Run, gather
from .send import send

EACH = 20  # trials of each step
MANY = 16
ALPHA = 0.01
STATE, LOAD = 1000, 2000  # numbers of their trials, away from those of the score
A, B = "select/one-of-three", "select/near-names"

_TOOL = {
    "type": "function",
    "function": {
        "name": "ring_bell",
        "description": "Ring the bell of the tower so many times",
        "parameters": {"type": "object", "properties": {"times": {"type": "integer"}}, "required": ["times"]},
    },
}
_USER = {"role": "user", "content": "Ring the bell four times, please."}
_CALL = {"id": "call_0", "type": "function", "function": {"name": "ring_bell", "arguments": '{"times": 4}'}}
_HISTORY = [
    _USER,
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "call_0", "content": '{"rung": 4}'},
]
FIXED: dict[str, dict[str, Any]] = {
    "words": {"messages": [_USER]},
    "tools": {"messages": [_USER], "tools": [_TOOL]},
    "history": {"messages": _HISTORY, "tools": [_TOOL]},
}


async def fingerprint(run: Run) -> dict[str, Any]:
    """The prompt tokens of fixed requests: they change when a template or a tokeniser does, and with nothing else."""
    found: dict[str, int | None] = {}
    for name, body in FIXED.items():
        exchange = await send(run.client, {"model": run.model, **body, "max_tokens": 1, "temperature": 0}, run.clock)
        found[name] = reading.read(exchange).prompt_tokens
    words = ", ".join(f"{name} {'unknown' if count is None else count}" for name, count in found.items())
    return {"prompt_tokens": found, "words": words}


async def a_b_a(run: Run, suite: Sequence[Scenario]) -> dict[str, Any]:
    """The same scenario before and after another one: does the server keep something that it should not?"""
    by = {one.id: one for one in suite}
    steps = [(by[name], range(STATE + at * EACH, STATE + (at + 1) * EACH)) for at, name in enumerate((A, B, A))]
    right = [await _right(run, scenario, numbers, run.concurrency) for scenario, numbers in steps]
    worse = _worse(right[0], right[2])
    words = f"{right[0]}, {right[1]}, {right[2]} of {EACH} right{'; worse after another scenario' if worse else ''}"
    return {"right": right, "of": EACH, "worse": worse, "words": words}


async def load(run: Run, suite: Sequence[Scenario]) -> dict[str, Any]:
    """The same scenario one at a time and sixteen at once: is it only right while the server is idle?"""
    scenario = next(one for one in suite if one.id == A)
    numbers = range(LOAD, LOAD + EACH)
    alone = await _right(run, scenario, numbers, 1)
    many = await _right(run, scenario, numbers, MANY)
    worse = _worse(alone, many)
    words = f"{alone} of {EACH} right alone, {many} with {MANY} at once{'; worse under load' if worse else ''}"
    return {"alone": alone, "many": many, "of": EACH, "at_once": MANY, "worse": worse, "words": words}


def _worse(before: int, after: int) -> bool:
    return statistics.fisher((after, EACH), (before, EACH)) < ALPHA


async def _right(run: Run, scenario: Scenario, numbers: range, concurrency: int) -> int:
    most = int(run.sampling.get("max_tokens", 1024))
    queue = iter([Trial(scenario, number, mode(number), most) for number in numbers])
    right = 0

    async def work() -> None:
        nonlocal right
        for trial in queue:
            score = (await run.one(trial)).score
            right += score == 1

    await gather([work() for _ in range(concurrency)])
    return right


def compare(baseline: dict[str, Any], candidate: dict[str, Any]) -> list[str]:
    """What the probes of two results tell of a change, a sentence each."""
    was, now = (one.get("prompt", {}).get("prompt_tokens", {}) for one in (baseline, candidate))
    changed = [f"{name} {was[name]} → {now[name]}" for name in was if name in now and was[name] != now[name]]
    said = [f"prompts are built otherwise (template or tokeniser): tokens of {', '.join(changed)}"] if changed else []
    return said + [f"{name}: {one['words']}" for name, one in candidate.items() if one.get("worse")]
