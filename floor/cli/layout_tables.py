"""What `floor layout` shows a person: tables, a picture in letters, reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from floor.cli.tables import PIPED
from floor.layout import picture
from floor.layout.assign import Answer
from floor.layout.fleet import ASSUMED, UNVERIFIED
from floor.layout.layouts import Layout
from floor.layout.simulate import Outcome
from floor.layout.stated import UNEVEN
from floor.sizes import GIB, gib


def shown(
    answer: Answer, ran: Sequence[tuple[Layout, Outcome]], *, every: bool, console: Console | None = None
) -> None:
    """Given what is said of a model and what a simulation gave, print it."""
    console = _console(console)
    chosen, want = answer.advice.chosen, answer.want
    console.print(Text(_head(answer), "bold"), soft_wrap=True)
    if answer.found.layouts:
        console.print(_layouts(answer))
    if every or not answer.found.layouts:
        for what, misfit in answer.found.misfits.items():
            console.print(Text(f"  does not fit: {what}: {misfit.why}"), soft_wrap=True)
    if ran:
        console.print(_simulated(ran))
    if chosen is None:
        words = "beside the other models nothing is left for it" if answer.alone else "nothing fits"
        console.print(Text(f"{want.name}: {words}", "red"), soft_wrap=True)
        return
    console.print(Text(f"recommended: {chosen.title}", "green"), soft_wrap=True)
    for number, reason in enumerate(answer.advice.reasons, 1):
        console.print(Text(f"  {number}. {reason}"), soft_wrap=True)
    for change in answer.advice.changes:
        console.print(Text(f"  would change it: {change}"), soft_wrap=True)
    console.print(_memory(chosen))
    for line in picture.letters([chosen]):
        console.print(Text(line), soft_wrap=True)
    for note in _notes(answer, chosen):
        console.print(Text(f"! {note}", "yellow"), soft_wrap=True)
    console.print()


def side_by_side(
    cases: Mapping[str, Sequence[tuple[Answer, Sequence[tuple[Layout, Outcome]]]]], console: Console | None = None
) -> None:
    """Given what is said of the models in each case, and what a simulation gave, print the recommended layouts beside
    each other."""
    console = _console(console)
    ran = any(outcomes for some in cases.values() for _, outcomes in some)
    under = ("under traffic", "first token p50 p95 p99") if ran else ()
    columns = ("what if", "model", "recommended", "cache tokens", "at once", "one stream", "all", "survives")
    table = _table(*columns, *under)
    for case, some in cases.items():
        for answer, outcomes in some:
            chosen = answer.advice.chosen
            if chosen is None:
                table.add_row(case, answer.want.name, "nothing fits")
                continue
            tokens = " + ".join(f"{backend.holds:,}" for backend in chosen.backends)
            row = (tokens, _many(chosen.at_once), _speed(chosen.one), _speed(chosen.throughput), _lasts(chosen))
            found = next((outcome for layout, outcome in outcomes if layout is chosen), None)
            words = (f"{found.throughput:.0f} tok/s", _times(found.first)) if found else ()
            table.add_row(case, answer.want.name, chosen.title, *row, *words)
    console.print(table)


def _head(answer: Answer) -> str:
    want = answer.want
    size = f"{want.shape.parameters / 1e9:.1f}B parameters ({want.shape.active / 1e9:.1f}B a token)"
    weights = f"{gib(want.weights.total)} of weights ({want.weights.origin})"
    return f"{want.name}: {size}, {weights}, cache {want.kv_cache}, requests of up to {want.context:,} tokens"


def _layouts(answer: Answer) -> Table:
    want = answer.want
    reads = f"{want.prompt:,} read in"
    table = _table("", "layout", "cache tokens", "at once", "longest", "one stream", "all", reads, "start", "survives")
    for layout in answer.found.layouts:
        backends = layout.backends
        table.add_row(
            "*" if layout is answer.advice.chosen else "",
            layout.title,
            " + ".join(f"{backend.holds:,}" for backend in backends),
            " / ".join(_many(backend.at_once) for backend in backends),
            f"{min(backend.longest for backend in backends):,}",
            _speed(layout.one),
            _speed(layout.throughput),
            f"{max(backend.reads for backend in backends):.1f} s",
            f"{max(backend.starts for backend in backends) / 60:.0f} min",
            _lasts(layout),
        )
    return table


def _memory(layout: Layout) -> Table:
    table = _table("backend", "card", "weights", "cache", "activations", "runtime", "graphs", "others", "left", "share")
    for backend in layout.backends:
        for used in backend.uses:
            beside = used.overhead
            engine = (beside.activations, beside.runtime, beside.graphs)
            sizes = (f"{size / GIB:.1f}" for size in (used.weights, used.cache, *engine, used.others, used.left))
            table.add_row(backend.name, f"{used.box} {used.card.name}", *sizes, f"{used.share:.2f}")
    table.caption = "GiB"
    table.caption_justify = "left"
    return table


def _simulated(ran: Sequence[tuple[Layout, Outcome]]) -> Table:
    table = _table("simulated", "done", "tok/s", "req/min", "waits p50 p95 p99", "first token", "whole", "refused")
    for layout, found in ran:
        times = [_times(part) for part in (found.waited, found.first, found.whole)]
        speeds = (str(found.done), f"{found.throughput:.0f}", f"{found.per_minute:.1f}")
        table.add_row(layout.title, *speeds, *times, str(found.refused))
    if any(found.refused for _, found in ran):
        table.caption = "refused: longer than a request may be, or than any cache holds"
        table.caption_justify = "left"
    return table


def _times(seconds: Sequence[float]) -> str:
    return " ".join(f"{value:.1f}" for value in seconds)


def _speed(tokens: float) -> str:
    """Tokens a second; of a model that generates none there is nothing to say."""
    return f"{tokens:.0f}" if tokens else "-"


def _notes(answer: Answer, chosen: Layout) -> list[str]:
    notes = []
    uses = [used for backend in chosen.backends for used in backend.uses]
    if not answer.advice.enough:
        notes.append("it does not hold what is asked for")
    if not answer.want.shape.causal:
        notes.append("it generates nothing: there are no speeds of that, and nothing to simulate")
    if any(used.overhead.origin == ASSUMED for used in uses):
        notes.append("assumed: activations, runtime and graphs; the log of a start on these boxes tells the real ones")
    if answer.want.weights.origin != "measured":
        notes.append("the bytes of the weights are computed from their number: they are not on disk here")
    if any(backend.cache_origin == UNVERIFIED for backend in chosen.backends):
        notes.append("unverified: the cache of these kinds of layers was never held against a start log")
    if any(backend.tokens > backend.holds for backend in chosen.backends):
        logged = " + ".join(f"{backend.tokens:,}" for backend in chosen.backends)
        words = "states in whole blocks leave about 80% of it, all of it with args: {mamba-block-size: 8192}"
        notes.append(f"the engine will log {logged} tokens; {words}")
    notes += _of_speeds(answer, chosen)
    if answer.want.critical and not chosen.lasts:
        notes.append("it is critical and does not survive the loss of a box")
    return notes


def _of_speeds(answer: Answer, chosen: Layout) -> list[str]:
    notes = []
    timed = [backend.name for backend in chosen.backends if backend.read_timed]
    if timed:
        notes.append(f"speeds of {', '.join(timed)} are those that `floor calibrate` measured")
    if computed := [backend.name for backend in chosen.backends if not backend.timed]:
        whose = f"of {', '.join(computed)} " if timed else ""
        notes.append(f"speeds {whose}are computed; docs/layout.md shows how far off they are")
        if answer.want.drafts:
            notes.append(f"assumed: a drafted token is right in {answer.want.taken:.0%} of the cases")
    slow = [backend for backend in chosen.backends if backend.uneven > UNEVEN]
    notes += [
        f"{one.name}: its slowest stretch takes {one.uneven:.1f} times the mean and sets the pace" for one in slow
    ]
    return notes


def _lasts(layout: Layout) -> str:
    return "any box" if layout.lasts else f"not {', '.join(layout.fatal)}"


def _many(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else "any"


def _console(console: Console | None) -> Console:
    console = console or Console()
    if not console.is_terminal:
        console.width = PIPED
    return console


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in ("layout", "recommended", "cache tokens"))
    return table
