"""The command line of the tool test."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from floor.errors import UsageError

from .report.result import Result
from .run import teb
from .run.plan import BASELINE, TIERS
from .run.send import Endpoint
from .run.session import Options
from .show import Progress

KEY_VARIABLE = "FLOOR_ENGINE_KEY"
# Fields of a request that a trial is made of.
OURS = {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "n"}
MOST_TOKENS = 1024

_EPILOG = f"""The key is read from --key-file or from {KEY_VARIABLE}, never from the command line.
Exit codes: 0 done or PASS, 1 BLOCK (the build is worse), 2 the command line or a file is wrong,
6 HOLD (not enough evidence), 7 the endpoint or the test itself is down before there is a verdict."""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="floor tooltest",
        allow_abbrev=False,
        description="Does this build still call tools? Sixty scenarios against an OpenAI-compatible endpoint.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = _command(commands, "run", "test an endpoint once")
    _endpoint(run)
    baseline = _command(commands, "baseline", "test what runs now, and keep every trial for a later gate")
    _endpoint(baseline, trials=BASELINE)
    baseline.add_argument("--save", metavar="FILE", type=Path, required=True, help="where the baseline goes")
    baseline.add_argument("--replace", action="store_true", help="write over a file that is there")
    judge = _command(commands, "gate", "test an endpoint against a baseline: PASS, BLOCK or HOLD")
    _endpoint(judge)
    judge.add_argument("--baseline", metavar="FILE", type=Path, required=True, help="what `baseline` wrote")
    _identical(judge)
    compare = _command(commands, "compare", "compare two files that `baseline` or --output wrote")
    compare.add_argument("before", metavar="BEFORE", type=Path, help="the baseline")
    compare.add_argument("after", metavar="AFTER", type=Path, help="the candidate")
    _identical(compare)
    for one in (run, baseline, judge, compare):
        _reports(one)
    _command(commands, "answers", "print the answer book that `floor sim --sim-answers` plays from")
    curve = _command(commands, "curve", "print how often the gate says what, from seeded models; takes minutes")
    curve.add_argument("--gates", metavar="N", type=_count, default=400, help="gates for each row (400)")
    return top


def _command(commands: Any, name: str, words: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=words, description=words[0].upper() + words[1:] + ".", allow_abbrev=False
    )
    return made


def _identical(one: argparse.ArgumentParser) -> None:
    one.add_argument("--identical", action="store_true", help="a copy of a build that has passed: pass without proof")


def _endpoint(one: argparse.ArgumentParser, trials: int | None = None) -> None:
    one.add_argument("url", metavar="URL", help="the engine's address, http://HOST:PORT")
    one.add_argument("--model", metavar="NAME", default="", help="the served name (default: the only one listed)")
    one.add_argument("--key-file", metavar="F", type=Path, help="file that holds the engine key")
    one.add_argument(
        "--tier", choices=list(TIERS), default="gate", help="quick 24 × 1, gate 60 × 3, deep 60 × 5 and load"
    )
    each = f"trials of each scenario ({trials or 'as the tier has them'})"
    one.add_argument("--trials", metavar="N", type=_count, default=trials, help=each)
    one.add_argument("--concurrency", metavar="N", type=_count, default=8, help="trials at once (8)")
    one.add_argument("--timeout", metavar="S", type=_count, default=300, help="seconds for a request (300)")
    one.add_argument("--log", metavar="FILE", type=Path, help="trial log; a run that was cut goes on from it")
    one.add_argument("--seed", metavar="N", type=int, help="of the values in the scenarios (0, or the baseline's)")
    one.add_argument("--temperature", metavar="T", type=float, help="(0, or the baseline's)")
    one.add_argument("--max-tokens", metavar="N", type=_count, help=f"of an answer ({MOST_TOKENS}, or the baseline's)")
    one.add_argument("--sampling", metavar="JSON", help="further fields of each request, as an object")
    one.add_argument("--system", metavar="FILE", type=Path, help="a system prompt before each scenario's own")
    one.add_argument("--teb", action="store_true", help="run tool-eval-bench beside; it decides nothing")
    one.add_argument("--load", action="store_true", help="the load probes too, as in the deep tier")
    for name, words in (
        ("weights", "sha256 of the weights"),
        ("launch", "how the engine was launched"),
        ("note", "anything"),
    ):
        one.add_argument(f"--{name}", metavar="TEXT", default="", help=f"stated of the build: {words}")


def _reports(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print JSON instead of the table")
    one.add_argument("--output", metavar="FILE", type=Path, help="write the JSON there, too")
    one.add_argument("--junit", metavar="FILE", type=Path, help="write JUnit's XML there, for CI")
    one.add_argument("--markdown", metavar="FILE", type=Path, help="write a page there, for a team")


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text}: write a whole number, 1 or more")
    return int(text)


def options(flags: argparse.Namespace, before: Result | None = None) -> Options:
    """What the flags ask for; what they leave open is as in the result before. Raises UsageError."""
    setting = before.setting if before else {}
    sampling = dict(setting.get("sampling") or {"temperature": 0.0, "max_tokens": MOST_TOKENS})
    given = {"temperature": flags.temperature, "max_tokens": flags.max_tokens, **_object(flags.sampling)}
    sampling |= {name: value for name, value in given.items() if value is not None}
    _demand_fit(sampling)
    tier = TIERS[flags.tier]
    flags.own_log = flags.log is None
    if flags.log is None:
        descriptor, name = tempfile.mkstemp(prefix="floor-tooltest-", suffix=".jsonl")
        os.close(descriptor)
        flags.log = Path(name)
    progress = Progress(sys.stderr)
    return Options(
        endpoint=Endpoint(_url(flags.url), flags.model, _key(flags.key_file), float(flags.timeout)),
        tier=tier,
        numbers=flags.trials or tier.trials,
        seed=flags.seed if flags.seed is not None else setting.get("seed", 0),
        sampling=sampling,
        system=_text(flags.system) if flags.system else setting.get("system", ""),
        concurrency=flags.concurrency,
        log=flags.log,
        stated={name: getattr(flags, name) for name in ("weights", "launch", "note")},
        load=flags.load or tier.load,
        teb=teb.program() if flags.teb else "",
        say=progress.say,
        progress=progress.show,
    )


def _object(text: str | None) -> dict[str, Any]:
    try:
        content = json.loads(text or "{}")
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise UsageError(f'--sampling: found {text!r}; write a JSON object, such as {{"top_p": 0.9}}')
    return content


def _demand_fit(sampling: Mapping[str, Any]) -> None:
    """Raise UsageError for what a scenario decides itself, and for numbers that no request can have."""
    if taken := sorted(OURS & {*sampling}):
        raise UsageError(f"--sampling: {taken[0]}: each scenario has its own; leave it out")
    most = sampling.get("max_tokens")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise UsageError(f"max_tokens: found {most!r}; write a whole number, 1 or more")
    try:
        json.dumps(dict(sampling), allow_nan=False)
    except ValueError:
        raise UsageError(f"sampling: found {dict(sampling)}; NaN and Infinity are no numbers of a request") from None


def _url(text: str) -> str:
    try:
        host = httpx.URL(text).host if text.startswith(("http://", "https://")) else ""
    except httpx.InvalidURL:
        host = ""
    if not host:
        raise UsageError(f"{text}: is no address; write http://HOST:PORT")
    return text


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{path}: cannot be read: {what}") from None


def _key(path: Path | None) -> str:
    key = _text(path) if path else os.environ.get(KEY_VARIABLE, "").strip()
    if any(character.isspace() or not character.isprintable() or ord(character) > 126 for character in key):
        raise UsageError(f"{path or KEY_VARIABLE}: holds no key: one word of ASCII is wanted")
    return key
