"""The page that a team reads: Markdown, with the raw exchange of each failure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..contract import names
from ..trial.record import Record
from ..verdict.gate import Verdict
from . import table
from .result import Result
from .summary import checks, summary

MOST_SHOWN = 40  # failures with their exchanges; the JSON has all


def markdown(result: Result, verdict: Verdict | None = None) -> str:
    """The whole page."""
    return "\n".join(_page(result, verdict)) + "\n"


def _page(result: Result, verdict: Verdict | None) -> Iterator[str]:
    figures = summary(result)
    model = result.tested.get("model", "this build")
    yield f"# Does {model} call tools? {verdict.word if verdict else figures['behaviour']}"
    yield ""
    if verdict is not None:
        yield from _fenced("\n".join(table.verdict_lines(verdict)))
    yield "| tested | |"
    yield "|---|---|"
    for name, value in result.tested.items():
        yield f"| {name} | {_cell(value)} |"
    yield f"| when | {result.when}, {result.tier} tier, {len(result.trials)} trials, {result.concurrency} at once |"
    yield f"| settings | {_cell(json.dumps(dict(result.setting)))} |"
    if result.left_out:
        yield f"| left out | {', '.join(result.left_out)}: longer than the context |"
    yield ""
    yield f"## Behaviour: {figures['behaviour']} of 100"
    yield ""
    yield "| kind | score |"
    yield "|---|---|"
    for kind, value in figures["kinds"].items():
        yield f"| {kind} | {value} |"
    yield ""
    yield from _contract(result)
    yield from _probes(result)
    yield from _failures(result)


def _contract(result: Result) -> Iterator[str]:
    found = checks(result.trials)
    broken = [one for one in found if not one.held]
    yield f"## Contract: {len(broken)} {'check' if len(broken) == 1 else 'checks'} broken"
    yield ""
    yield "| check | what holds | failed | streamed | whole |"
    yield "|---|---|---|---|---|"
    for one in found:
        failed = (
            f"**{one.failed}** of {one.applied}"
            if one.failed
            else f"0 of {one.applied}"
            if one.applied
            else "not shown"
        )
        yield f"| {one.name} | {names.CHECKS[one.name]} | {failed} | {one.streamed} | {one.whole} |"
    yield ""
    for one in broken:
        yield f"- **{one.name}**, first in {one.scenario}: {_cell(one.example[:300])}"
    if broken:
        yield ""


def _probes(result: Result) -> Iterator[str]:
    if result.probes:
        yield "## Beside the score"
        yield ""
        for name, found in result.probes.items():
            yield f"- {name}: {_cell(found.get('words', found))}"
        yield ""


def _failures(result: Result) -> Iterator[str]:
    failed = [one for one in result.trials if one.exchanges]
    failed.sort(key=lambda one: (not any(one.checks.values()), one.scenario, one.trial))
    yield f"## Failures: {len(failed)} of {len(result.trials)} trials"
    yield ""
    if len(failed) > MOST_SHOWN:
        yield f"The first {MOST_SHOWN}, those that break the contract before all others; the JSON report has every one."
        yield ""
    for one in failed[:MOST_SHOWN]:
        yield from _failure(one)


def _failure(one: Record) -> Iterator[str]:
    yield f"### {one.scenario}, trial {one.trial}, {one.mode}: {one.score:g}"
    yield ""
    for wrong in filter(None, [one.reason, *(f"{name}: {text}" for name, text in one.checks.items() if text)]):
        yield f"- {_cell(wrong[:300])}"
    yield ""
    yield "<details><summary>what went over the wire</summary>"
    yield ""
    for number, exchange in enumerate(one.exchanges, 1):
        yield f"Request {number}:"
        yield from _fenced(_request(exchange["request"]))
        yield f"Answer {number}: {exchange['failure'] or 'HTTP'} {exchange['status'] or ''}, {exchange['seconds']} s"
        yield from _fenced(exchange["body"])
    yield "</details>"
    yield ""


def _request(request: Mapping[str, Any]) -> str:
    """A request without its tools' definitions, which the suite has."""
    tools = [tool["function"]["name"] for tool in request.get("tools", ())]
    shown = {**request, "tools": tools if len(tools) <= 8 else f"{len(tools)} tools"}
    return json.dumps(shown, ensure_ascii=False, indent=1)


def _fenced(text: str) -> Iterator[str]:
    """A block of code, in a fence that is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield fence
    yield text
    yield fence
    yield ""


def _cell(value: object) -> str:
    """Text for a line of Markdown: no line ends, no bars, nothing that a browser would take for a tag."""
    text = " ".join(str(value).split())
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
