"""`floor bench`: how many requests at once give the most."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from floor.cli.options import DEFAULT, ConfigPath, DryRun, Force, Json, draw, open_site, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from floor.bench.knee import Advice
    from floor.bench.run import Run
    from floor.bench.traffic import Request
    from floor.config.model import Config, ResolvedCopy
    from floor.operations.bench import Plan
    from floor.operations.site import Site

PENDING = 3
LEVELS = "1,2,4,8,12,16,24,32"


def bench(
    model: Annotated[str | None, typer.Argument(help="Which model; not needed where there is one.")] = None,
    config: ConfigPath = DEFAULT,
    url: Annotated[
        str | None, typer.Option(help="Any OpenAI-compatible address, in place of the model's pool.")
    ] = None,
    key_file: Annotated[Path | None, typer.Option(help="File with the key that is asked for there.")] = None,
    copy: Annotated[str | None, typer.Option(help="One copy, which is out of every pool while it is measured.")] = None,
    force: Force = False,
    levels: Annotated[str, typer.Option(help="How many requests at once; with --open how many a second.")] = LEVELS,
    seconds: Annotated[float, typer.Option(min=1, help="How long each level is measured.")] = 60.0,
    mix: Annotated[str, typer.Option(help="Built-in requests: short, long or mix.")] = "mix",
    traffic: Annotated[Path | None, typer.Option(help="Requests of your own: a body as JSON on each line.")] = None,
    open_loop: Annotated[
        bool, typer.Option("--open", help="Begin requests at a rate, whether or not others end.")
    ] = False,
    first_token: Annotated[
        float | None, typer.Option(help="Nine in ten must get a token within these seconds.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where what was measured is kept; run again, it goes on.")] = Path(
        "floor-bench.json"
    ),
    svg: Annotated[Path | None, typer.Option(help="Draw it into this file.")] = None,
    compare: Annotated[Path | None, typer.Option(help="Show --out beside this earlier run; measure nothing.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Put the advice into floor.yaml as max_requests.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Measure tokens a second with more and more requests at once, and advise how many a copy should take.

    With --copy it refuses to take the last member of a pool unless --force accepts the outage.
    """
    from floor.bench import draw as drawing
    from floor.bench import run
    from floor.cli.bench_table import compared, measured
    from floor.errors import UsageError
    from floor.operations import bench as work
    from floor.operations.drain import find

    if compare is not None:
        compared(str(compare), run.load(compare), str(out), run.load(out))
        return
    if write and (url is not None or open_loop):
        raise UsageError("--write: needs the model's own copies and requests at once; leave out --url and --open")
    if copy is not None and url is not None:
        raise UsageError("--copy: is one of floor.yaml's; leave out --url")
    site = None if url is not None else open_site(config)
    known = None if site is None else site.loaded.config
    how = _How(work.traffic(mix, traffic), _levels(levels, whole=not open_loop), seconds, open_loop, out)
    one = find(site, copy) if site is not None and copy is not None else None
    if dry_run:
        for line in _planned(one, how):
            say(line)
        raise typer.Exit(PENDING)
    if site is not None and one is not None:
        name, (found, why) = one.model, _one_copy(site, one, how, last=force)
    else:
        key = _key(key_file) if key_file else None
        name, (found, why) = _whole_pool(known, model, url, key, how)
    word = how.traffic[1]
    advice = work.advise(found.levels, first_token)
    if svg is not None:
        draw(svg, drawing.svg(f"{name}: {word}", found.levels, advice.at))
    if as_json:
        say(json.dumps(_document(found, advice, why), indent=1))
    else:
        measured(found, advice, why)
    if write and advice.at is not None and known is not None:
        where = work.place(known, one) if one is not None else ("models", name, "max_requests")
        most = work.cap(known, name, advice.at, copies=1 if one is not None else None)
        say(work.write(config, where, most) or f"{config} says so already")


@dataclass(frozen=True)
class _How:
    """Requests and the word for them, levels, seconds of each, whether the loop is open, and where it is kept."""

    traffic: tuple[tuple[Request, ...], str]
    levels: tuple[float, ...]
    seconds: float
    open_loop: bool
    out: Path

    def plan(self, url: str, model: str, key: str | None) -> Plan:
        from floor.operations.bench import Plan

        requests, word = self.traffic
        return Plan(url.rstrip("/"), model, key, requests, word, self.levels, self.seconds, self.open_loop)


def _one_copy(site: Site, one: ResolvedCopy, how: _How, *, last: bool) -> tuple[Run, str]:
    from floor.operations import bench, bench_copy
    from floor.operations.checks import address

    bench.beyond([one], how.levels, _tell)
    plan = how.plan(address(site, one), one.model, None)
    return bench_copy.measure(site, one, plan, how.out, _tell, last=last)


def _whole_pool(
    config: Config | None, model: str | None, url: str | None, key: str | None, how: _How
) -> tuple[str, tuple[Run, str]]:
    from floor.errors import UsageError
    from floor.operations import bench

    name, address = (model or "", str(url)) if config is None else bench.target(config, model)
    if not name:
        raise UsageError("--url: name the model that is asked there, such as `floor bench flagship --url …`")
    if config is not None:
        bench.beyond(config.copies(name), how.levels, _tell)
    return name, bench.measure(how.plan(address, name, key), how.out, _tell)


def _key(path: Path) -> str:
    from floor.errors import UsageError

    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--key-file {path}: cannot be read ({error})") from error


def _planned(one: ResolvedCopy | None, how: _How) -> Iterator[str]:
    if one is not None:
        yield f"take {one.backend} out of every pool, wait until it is idle, measure, let it in again:"
    for at in how.levels:
        yield f"  {at:g} {'a second' if how.open_loop else 'at once'} for {how.seconds:g} s"


def _tell(line: str) -> None:
    typer.echo(line, err=True)


def _levels(text: str, *, whole: bool) -> tuple[float, ...]:
    """Requests at once come whole; those of a second need not."""
    from floor.errors import UsageError

    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < at <= 10_000 and (at.is_integer() or not whole) for at in found):
        what = "whole numbers" if whole else "numbers"
        raise UsageError(f"--levels {text}: write {what} above 0 with commas between them, such as {LEVELS}")
    return found


def _document(found: Run, advice: Advice, why: str) -> dict[str, Any]:
    from floor.bench.level import to_json

    return {
        **found.setting,
        "levels": [to_json(level) for level in found.levels],
        "advice": {"at": advice.at, "shape": advice.shape, "sure": round(advice.sure, 3), "why": advice.why},
        "stopped": why,
    }
