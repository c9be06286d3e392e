"""`floor layout`: what fits where, which layout to take, and why. It changes no box."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from floor.cli.options import DEFAULT, ConfigPath, Json, draw, load, open_site, say

if TYPE_CHECKING:
    from floor.config.load import Loaded
    from floor.layout.assign import Answer
    from floor.layout.traffic import Traffic
    from floor.operations.layout import Question

BOX = (
    "A box: NAME=CARD, or rig=rtx-3090x4,others=2GiB,keep_free=4GiB. Instead of those of the file; none is asked then."
)
WHAT_IF = "Beside the answer, the one with these edits: kv_cache=fp8,context=131072 or spark-b=rtx-5090x2."
SIMULATE = "Run each layout under traffic: rate=0.5,prompt=8000,answer=500,minutes=30, or users=24, or a file."


def layout(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL…", help="Models of the file, or NAME=FOLDER with weights.", show_default=False),
    ] = None,
    config: ConfigPath = DEFAULT,
    box: Annotated[list[str] | None, typer.Option("--box", help=BOX)] = None,
    at_once: Annotated[
        int | None, typer.Option("--at-once", min=1, help="Requests of full length that a backend must hold at once.")
    ] = None,
    context: Annotated[int | None, typer.Option(min=1, help="Longest request, in tokens.")] = None,
    kv_cache: Annotated[str | None, typer.Option(help="Type of the cache, such as fp8.")] = None,
    cap: Annotated[int | None, typer.Option(min=1, help="Requests at once in a backend.")] = None,
    drafts: Annotated[int | None, typer.Option(min=0, help="Tokens drafted ahead (MTP) in each step.")] = None,
    quant: Annotated[str | None, typer.Option(help="Weights of another kind than on disk, such as nvfp4.")] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Tokens of a usual request, for the speeds.")] = None,
    prompt: Annotated[int | None, typer.Option(min=1, help="Tokens of the prompt whose reading is timed.")] = None,
    critical: Annotated[list[str] | None, typer.Option(help="A model that is to survive the loss of any box.")] = None,
    what_if: Annotated[list[str] | None, typer.Option("--what-if", help=WHAT_IF)] = None,
    simulate: Annotated[str | None, typer.Option(help=SIMULATE)] = None,
    curve: Annotated[
        list[str] | None, typer.Option(help="Measured speeds: flagship@spark-a=1:36,4:82,8:109 (requests: tokens/s).")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Write a picture of the recommended layouts to this file.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Put the recommended layouts into the file.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --write: only show the difference; exit 3 if there is any.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show also what does not fit, and why.")] = False,
    as_json: Json = False,
) -> None:
    """Say what fits where and which layout to take: memory, cache, speed, what survives the loss of a box.

    --write puts it into the file, where comments and order stay; `floor deploy`, `floor switch` or, with another
    kv_cache, `floor swap` brings it about.

    Boxes and weights are those of the file, or said by --box and NAME=FOLDER before anybody buys.
    """
    from floor.operations import layout as operation
    from floor.operations.layout_words import Asked

    said = {"context": context, "at_once": at_once, "kv_cache": kv_cache, "cap": cap, "quant": quant}
    said |= {"drafts": drafts, "depth": depth, "prompt": prompt}
    settings = {key: value for key, value in said.items() if value is not None}
    asked = Asked(models or [], box or [], settings, critical or [], curve or [])
    questions = {"": operation.question(asked, lambda: load(config), lambda: open_site(config))}
    questions |= {text: operation.what_if(questions[""], text) for text in what_if or ()}
    for line in questions[""].warnings:
        typer.echo(f"warning: {line}", err=True)
    traffic = _traffic(simulate) if simulate else None
    found = {text: _answer(question, traffic) for text, question in questions.items()}
    if svg:
        _write(svg, found[""])
    if as_json:
        say(json.dumps(_json(questions, found), indent=1))
    else:
        _show(found, every=every)
    if write:
        _put(load(config), [answer for answer, _ in found[""]], settings, dry_run=dry_run, beside=as_json)
    if any(answer.advice.chosen is None for answer, _ in found[""]):
        raise typer.Exit(1)


def _traffic(text: str) -> Traffic:
    import random

    from floor.operations.layout_words import simulated

    return simulated(text, random.Random(0).random)  # noqa: S311 - the same traffic each time, for every layout


def _answer(question: Question, traffic: Traffic | None) -> list[tuple[Any, Any]]:
    from floor.operations import layout as operation

    return [(one, operation.simulate(one, traffic) if traffic else []) for one in operation.answers(question)]


def _json(questions: dict[str, Question], found: dict[str, list[tuple[Any, Any]]]) -> dict[str, Any]:
    from floor.layout import report

    def case(text: str) -> dict[str, Any]:
        models = []
        for answer, ran in found[text]:
            models.append({**report.answered(answer), "simulated": [report.outcome(*one) for one in ran]})
        return {"boxes": report.fleet(questions[text].places), "models": models}

    return {
        **case(""),
        "warnings": list(questions[""].warnings),
        "what_if": {text: case(text) for text in questions if text},
    }


def _show(found: dict[str, list[tuple[Any, Any]]], *, every: bool) -> None:
    from floor.cli.layout_tables import shown, side_by_side

    for answer, ran in found[""]:
        shown(answer, ran, every=every)
    if len(found) > 1:
        side_by_side({text or "as it is": some for text, some in found.items()})


def _put(loaded: Loaded, answers: list[Answer], settings: dict[str, Any], *, dry_run: bool, beside: bool) -> None:
    from floor.operations import layout_write, own_file

    text, difference, by_hand = layout_write.proposed(loaded, answers, settings)
    for line in by_hand:
        typer.echo(f"look over: {line}", err=True)
    typer.echo(difference.rstrip() if difference else f"{loaded.path}: nothing to change", err=beside)
    if difference and dry_run:
        raise typer.Exit(3)
    if difference:
        own_file.write(loaded.path, text)


def _write(path: Path, found: list[tuple[Any, Any]]) -> None:
    from floor.layout import picture

    answers = [answer for answer, _ in found if answer.advice.chosen]
    chosen = [answer.advice.chosen for answer in answers]
    title = "; ".join(f"{answer.want.name}: {answer.advice.chosen.title}" for answer in answers)
    draw(path, picture.svg(chosen, title or "nothing fits"))
