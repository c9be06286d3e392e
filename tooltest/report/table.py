"""The table for people at a terminal: plain lines."""

from __future__ import annotations

from collections.abc import Iterator

from ..suite.scenario import KINDS
from ..verdict.gate import Verdict
from .result import Result
from .summary import checks, errors, summary


def lines(result: Result, verdict: Verdict | None = None) -> Iterator[str]:
    """The lines of a result, and of the gate's verdict where there is one. What a server said is in them: whatever a
    terminal would obey, or begin a line with, is a blank."""
    yield from map(_plain, _lines(result, verdict))


def _plain(line: str) -> str:
    return "".join(character if character.isprintable() else " " for character in line)


def _lines(result: Result, verdict: Verdict | None) -> Iterator[str]:
    figures = summary(result)
    told = ", ".join(f"{name} {value}" for name, value in result.tested.items() if value is not None)
    yield f"tested      {told}"
    made = f"{len(result.trials)} trials, {result.concurrency} at once"
    yield f"tier        {result.tier}: {made}, in {_time(result.seconds)}"
    if result.seconds:
        share = 100 * result.harness / result.seconds
        yield f"harness     {result.harness:.1f} s of processor time, {share:.1f}% of the run"
    if result.left_out:
        yield f"left out    {', '.join(result.left_out)}: longer than the context"
    yield ""
    every = figures["every_time"]
    beside = f"; right {every['k']} times of {every['k']}: {every['score']}" if every and every["k"] > 1 else ""
    yield f"behaviour   {figures['behaviour']} of 100{beside}"
    kinds = [f"{kind} {figures['kinds'][kind]:.0f}" for kind in KINDS if kind in figures["kinds"]]
    for at in range(0, len(kinds), 6):
        yield f"            {' · '.join(kinds[at : at + 6])}"
    yield ""
    yield from _contract(result)
    for name, label in (("first_token", "first token"), ("first_tool_byte", "first byte of a call")):
        if figures[name]:
            yield f"{label:<21}{figures[name]['median']:.2f} s median, {figures[name]['p95']:.2f} s p95"
    for name, found in result.probes.items():
        yield f"probe       {name}: {found.get('words', found)}"
    if failed := errors(result.trials):
        yield f"errors      {len(failed)} trials, the first: {failed[0].scenario}: {failed[0].error}"
    if verdict is not None:
        yield ""
        yield from verdict_lines(verdict)


def _contract(result: Result) -> Iterator[str]:
    found = checks(result.trials)
    broken = [one for one in found if not one.held]
    applied = sum(bool(one.applied) for one in found)
    yield f"contract    {applied - len(broken)} of {applied} checks held"
    for one in broken:
        yield f"  {one.name:<18} failed in {one.failed} of {one.applied} ({one.streamed} streamed, {one.whole} whole)"
        yield f"    {one.scenario}: {one.example[:160]}"


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """The gate's verdict."""
    yield f"{verdict.word:<12}{verdict.reasons[0]}"
    for reason in verdict.reasons[1:]:
        yield f"            {reason}"
    yield (
        f"            behaviour {verdict.baseline:.1f} before, {verdict.candidate:.1f} now: "
        f"{verdict.difference:+.1f} points (96%: {verdict.low:+.1f} to {verdict.high:+.1f})"
    )
    yield f"            the smallest drop that it would have blocked in 4 of 5 cases: {verdict.could_see:.1f} points"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"
