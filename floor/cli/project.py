"""`floor init`, `check`, `schema` and `render`: what can be done without reaching a box."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from floor.cli.options import DEFAULT, ConfigPath, Json, load, say, warn

if TYPE_CHECKING:
    from floor.config.load import Loaded


def init(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE | BOX…]",
            help="Where to write it; with --adopt the machines to look at.",
            show_default=False,
        ),
    ] = None,
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt", help="Take what runs already: BOX is `local` (this machine, default) or what ssh takes."
        ),
    ] = False,
    config: ConfigPath = DEFAULT,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a commented floor.yaml, filled in from what this machine shows: memory, GPUs, addresses, engines.

    With --adopt: one that reproduces the vLLM, llama.cpp and Ollama that run on the machines given, however they were
    started: containers, units, or by hand. Nothing is changed there.
    """
    from floor.errors import UsageError

    given = names or []
    if adopt:
        from floor.operations.adopt import adopt as take

        written = take(config, given, force=force)
        for line in written.lost:
            typer.echo(f"look over: {line}", err=True)
        say(written.next)
        return
    if len(given) > 1:
        raise UsageError(f"found {len(given)} files to write; name one, or add --adopt where these are machines")
    from floor.operations.init import write

    say(write(Path(given[0]) if given else config, force=force))


def check(
    config: ConfigPath = DEFAULT,
    boxes: Annotated[
        bool, typer.Option("--boxes", help="Ask the boxes, too: what fits there as the file has it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read floor.yaml and name everything that is wrong with it, each with its line and what to write.

    With --boxes the boxes tell their memory and the headers of their weights: contexts that no request could use and
    stretches that set the pace are warned of, as by a deployment.
    """
    from floor.errors import ConfigError

    try:
        loaded = load(config)
    except ConfigError as error:
        if as_json:
            say(json.dumps({"ok": False, "problems": list(error.problems)}, indent=1))
            raise typer.Exit(error.exit_code) from error
        raise
    there = _there(config) if boxes else []
    if as_json:
        say(json.dumps({"ok": True, "problems": [], "warnings": [*loaded.warnings, *there]}, indent=1))
        return
    warn(loaded)
    for line in there:
        typer.echo(f"warning: {line}", err=True)
    say(f"{config}: ok ({', '.join(_places(loaded, model) for model in loaded.config.models)})")


def _there(config: Path) -> list[str]:
    """What boxes and weights tell of the layout that the file has."""
    from floor.cli.options import open_site
    from floor.operations.layout_warnings import found

    return found(open_site(config))


def _places(loaded: Loaded, model: str) -> str:
    """Where a model is in each mode."""
    copies = ", ".join(copy.box for copy in loaded.config.copies(model))
    over = "+".join(part.box for part in loaded.config.parts(model))
    return f"{model} {' or '.join([f'on {copies}'] * bool(copies) + [f'over {over}'] * bool(over))}"


def schema() -> None:
    """Print the JSON Schema of floor.yaml, for editors."""
    from floor.config.schema import schema as export

    say(json.dumps(export(), indent=2))


def render(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to; a folder per box in it.")],
    config: ConfigPath = DEFAULT,
    mode: Annotated[str, typer.Option(help="replicas or split.")] = "replicas",
) -> None:
    """Write every file that the boxes would get into a folder, without reaching any box."""
    from floor.operations.render import write

    for line in write(load(config).config, mode, out):
        say(line)
