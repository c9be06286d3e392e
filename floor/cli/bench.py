"""`floor bench`: how many requests at once give the most."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from floor.cli.options import DEFAULT, ConfigPath, Json, load, say

if TYPE_CHECKING:
    from floor.bench.knee import Advice
    from floor.bench.run import Run

LEVELS = "1,2,4,8,12,16,24,32"


def bench(
    model: Annotated[str | None, typer.Argument(help="Which model; not needed where there is one.")] = None,
    config: ConfigPath = DEFAULT,
    url: Annotated[
        str | None, typer.Option(help="Any OpenAI-compatible address, in place of the model's pool.")
    ] = None,
    key_file: Annotated[Path | None, typer.Option(help="File with the key that is asked for there.")] = None,
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
    as_json: Json = False,
) -> None:
    """Measure tokens a second with more and more requests at once, and advise how many a copy should take."""
    from floor.bench import draw, run
    from floor.cli.bench_table import compared, measured
    from floor.errors import UsageError
    from floor.operations import bench as work

    if compare is not None:
        compared(str(compare), run.load(compare), str(out), run.load(out))
        return
    if write and (url is not None or open_loop):
        raise UsageError("--write: needs the model's own pool and requests at once; leave out --url and --open")
    known = None if url is not None else load(config).config
    name, address = (model or "", url) if known is None else work.target(known, model)
    if not name:
        raise UsageError("--url: name the model that is asked there, such as `floor bench flagship --url …`")
    requests, word = work.traffic(mix, traffic)
    key = key_file.read_text().strip() if key_file else None
    plan = work.Plan(str(address).rstrip("/"), name, key, requests, word, _levels(levels), seconds, open_loop)
    found, why = work.measure(plan, out, lambda line: typer.echo(line, err=True))
    advice = work.advise(found.levels, first_token)
    if svg is not None:
        svg.write_text(draw.svg(f"{name}: {word}", found.levels, advice.at))
    if as_json:
        say(json.dumps(_document(found, advice, why), indent=1))
    else:
        measured(found, advice, why)
    if write and advice.at is not None and known is not None:
        say(work.write(config, name, work.cap(known, name, advice.at)) or f"{config} says so already")


def _levels(text: str) -> tuple[float, ...]:
    from floor.errors import UsageError

    try:
        found = tuple(float(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < at <= 10_000 for at in found):
        raise UsageError(f"--levels {text}: write numbers above 0 with commas between them, such as {LEVELS}")
    return found


def _document(found: Run, advice: Advice, why: str) -> dict[str, Any]:
    from floor.bench.level import to_json

    return {
        **found.setting,
        "levels": [to_json(level) for level in found.levels],
        "advice": {"at": advice.at, "shape": advice.shape, "sure": round(advice.sure, 3), "why": advice.why},
        "stopped": why,
    }
