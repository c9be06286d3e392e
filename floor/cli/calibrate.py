"""`floor calibrate`: how fast a backend is, measured, and what its start logged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, DryRun, Force, Json, open_site, say
from floor.cli.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from floor.operations.calibrate import Calibration, Works

PENDING = 3


def calibrate(
    backend: Annotated[str, typer.Argument(help="MODEL@BOX, or a box that holds one backend.")],
    config: ConfigPath = DEFAULT,
    depths: Annotated[
        str, typer.Option(help="Tokens of the prompts of single streams, as 512,4096.", show_default=False)
    ] = "",
    at_once: Annotated[str, typer.Option(help="How many streams run at once, as 1,4,8.", show_default=False)] = "",
    answer: Annotated[int | None, typer.Option(min=8, help="Tokens of each answer.", show_default=False)] = None,
    dry_run: DryRun = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure how fast a backend reads prompts and generates, out of the pool, and keep it for `floor layout`.

    What its start logged of memory and cache is kept with it. Refuses to take the last member of a pool unless --force
    accepts the outage.
    """
    from floor.operations import calibrate as operation

    site = open_site(config)
    copy = operation.find(site, backend)
    logged = None if copy.context or depths else operation.logged_context(site, copy)
    work = operation.works(copy, _numbers("--depths", depths), _numbers("--at-once", at_once), answer, logged)
    if dry_run:
        for line in _planned(copy.backend, work):
            say(line)
        raise typer.Exit(PENDING)
    screen = Screen(beside=as_json)
    try:
        found = operation.calibrate(site, copy, work, screen.say, screen.progress, force=force)
    finally:
        screen.clear()
    if as_json:
        say(json.dumps(found.as_json(), indent=1))
        return
    for line in lines(found):
        say(line)


def lines(found: Calibration) -> Iterator[str]:
    """Given what a backend was measured at, yield it as lines for a person."""
    yield f"{'at once':>8}  {'prompt':>8}  {'read in':>9}  {'tokens/s':>9}  {'each':>7}"
    for point in found.points:
        each = point.speed / point.at_once
        yield (f"{point.at_once:>8}  {point.prompt:>8,}  {point.first:>7.2f} s  {point.speed:>9.1f}  {each:>7.1f}")
    start = found.start
    parts = (("weights", start.weights), ("cache", start.available), ("graphs", start.graphs_estimated))
    logged = [f"{what} {size:.2f} GiB" for what, size in parts if size is not None]
    if logged:
        yield f"its start logged: {', '.join(logged)}"
    yield _cache(found)
    yield f"kept on {found.box}: `floor layout` uses it before any constant"


def _cache(found: Calibration) -> str:
    logged, computed = found.start.tokens, found.computed
    if logged is None:
        return "its log tells no tokens of its cache"
    if computed is None:
        return f"cache: {logged:,} tokens logged; not computed: {found.why}"
    if logged == computed:
        return f"cache: {logged:,} tokens logged, as computed"
    return f"cache: {logged:,} tokens logged, {computed:,} computed ({computed / logged - 1:+.1%})"


def _planned(backend: str, work: Works) -> Iterator[str]:
    yield f"take {backend} out of every pool, wait until it is idle, measure, let it in again:"
    for at_once, prompt in work.each():
        yield f"  {at_once} at once, prompts of {prompt:,} tokens, answers of {work.answer}"


def _numbers(option: str, text: str) -> list[int]:
    from floor.errors import UsageError

    words = [word.strip() for word in text.split(",")] if text else []
    if not all(word.isdigit() and 0 < int(word) <= 10_000_000 for word in words):
        raise UsageError(f"{option} {text}: write whole numbers above 0 with commas between, such as 512,4096")
    return [int(word) for word in words]
