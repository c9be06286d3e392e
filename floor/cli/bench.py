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
    from floor.config.model import ResolvedCopy
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
    certificate: Annotated[
        Path | None, typer.Option(help="File with the certificate that is shown there, if no authority made it.")
    ] = None,
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
    from floor.cli.bench_table import measured
    from floor.errors import UsageError
    from floor.operations import bench as work
    from floor.operations import bench_copy, bench_write
    from floor.operations.drain import find

    if compare is not None:
        _compared(compare, out, as_json=as_json)
        return
    if write and (url is not None or open_loop):
        raise UsageError("--write: needs the model's own copies and requests at once; leave out --url and --open")
    if copy is not None and url is not None:
        raise UsageError("--copy: is one of floor.yaml's; leave out --url")
    site = None if url is not None else open_site(config)
    how = _How(work.traffic(mix, traffic), _levels(levels, whole=not open_loop), seconds, open_loop, certificate)
    one = find(site, copy) if site is not None and copy is not None else None
    plan, answering = _plan(site, one, model, url, _key(key_file) if key_file else None, how)
    if dry_run:
        for line in _planned(one, how):
            say(line)
        raise typer.Exit(PENDING)
    home = None if site is None or not write else bench_write.home(site, plan.model, one)
    work.beyond(answering, plan.levels, _tell)
    if site is not None and one is not None:
        found, why = bench_copy.measure(site, one, plan, out, _tell, last=force)
    else:
        found, why = work.measure(plan, out, _tell)
    advice = work.advise(found.levels, first_token, open_loop=open_loop)
    if svg is not None:
        draw(svg, drawing.svg(f"{plan.model}: {plan.traffic}", found.levels, advice.at))
    if as_json:
        say(json.dumps(_document(found, advice, why), indent=1))
    else:
        measured(found, advice, why)
    if site is not None and home is not None:
        told = bench_write.advised(site, plan.model, one, home, config, advice.at)
        (_tell if as_json else say)(told)


def _compared(earlier: Path, out: Path, *, as_json: bool) -> None:
    from floor.bench import run
    from floor.cli.bench_table import compared

    both = (run.load(earlier), run.load(out))
    if as_json:
        say(json.dumps({str(name): run.as_json(one) for name, one in zip((earlier, out), both, strict=True)}, indent=1))
    else:
        compared(str(earlier), both[0], str(out), both[1])


@dataclass(frozen=True)
class _How:
    """Requests and the word for them, levels, seconds of each, whether the loop is open, and whom to believe."""

    traffic: tuple[tuple[Request, ...], str]
    levels: tuple[float, ...]
    seconds: float
    open_loop: bool
    certificate: Path | None

    def plan(self, url: str, model: str, key: str | None, caps: tuple[int | None, ...] = ()) -> Plan:
        from floor.operations.bench import Plan

        where = (url, model, key, *self.traffic, self.levels, self.seconds)
        return Plan(*where, open_loop=self.open_loop, caps=caps, certificate=self.certificate)


def _plan(
    site: Site | None, one: ResolvedCopy | None, model: str | None, url: str | None, key: str | None, how: _How
) -> tuple[Plan, list[ResolvedCopy]]:
    """What is measured, and who answers there as far as floor.yaml tells: in which mode the boxes are it does not."""
    from floor.errors import UsageError
    from floor.operations import bench
    from floor.operations.checks import address

    if site is None:
        if not model:
            raise UsageError("--url: name the model that is asked there, such as `floor bench flagship --url …`")
        return how.plan(bench.address(str(url)), model, key), []
    config = site.loaded.config
    if one is not None:
        bench.generates(config, one.model)
        return how.plan(address(site, one), one.model, None, (one.max_requests,)), [one]
    name, place = bench.target(config, model)
    every = config.backends(name, None)
    caps = tuple(each.max_requests for each in every)
    return how.plan(place, name, key, caps), [] if config.parts(name) else every


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
    from floor.bench import run

    return {
        **run.as_json(found),
        "advice": {"at": advice.at, "shape": advice.shape, "sure": round(advice.sure, 3), "why": advice.why},
        "stopped": why,
    }
