"""The command `python -m floor.healthcheck`: flags, one check, one line."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import NoReturn

import httpx

from floor.errors import FloorError

from . import dialects
from .check import check
from .client import make_client
from .history import History
from .judge import judge
from .probe import look
from .report import State, document, line, state
from .target import Target
from .verdict import Verdict

KEY_VARIABLE = "FLOOR_ENGINE_KEY"

_EPILOG = f"""The engine key is read from --key-file or from {KEY_VARIABLE}, never from the command line.
Exit codes are those of monitoring plugins: 0 ok, 1 warning (slow, degraded, loading, prefilling),
2 critical, 3 unknown (a key is needed, or the command line is wrong)."""


class _Threads(ThreadPoolExecutor):
    """Threads for name look-ups that nobody waits for: a dead name server holds one for half a minute."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the point of it
        super().shutdown(wait=False, cancel_futures=cancel_futures)


class _Parser(argparse.ArgumentParser):
    """argparse ends with 2 on a usage error, which would read as "critical"."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(int(State.UNKNOWN), f"{self.prog}: {message}\n")


def _seconds(text: str) -> float:
    """Given a flag's text, return a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text}: write a number of seconds above 0")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m floor.healthcheck",
        allow_abbrev=False,  # --key would be --key-file, and a key on the command line its argument
        description="Ask one engine, directly, whether it is alive, ready and generating.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("url", metavar="URL", help="the engine's own address, http://HOST:PORT")
    parser.add_argument("--model", metavar="NAME", help="the served name it must list (default: the only one listed)")
    parser.add_argument("--key-file", metavar="F", type=Path, help="file that holds the engine key")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a line")
    parser.add_argument("--timeout", metavar="S", type=_seconds, default=10.0, help="seconds for the whole (10)")
    parser.add_argument("--dialect", default="vllm", help=f"kind of engine: {', '.join(dialects.names())} (vllm)")
    parser.add_argument("--task", default="generate", help="generate, or embed for a model for embeddings (generate)")
    parser.add_argument("--min-speed", metavar="N", type=float, help="tokens/s below which it is degraded")
    parser.add_argument("--stall", metavar="S", type=_seconds, default=120.0, help="seconds without progress (120)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, check one engine, print what was found and return the exit code."""
    try:
        flags = _parser().parse_args(argv)
    except SystemExit as end:  # --help and usage errors, already printed
        return int(end.code or 0)
    try:
        verdict = asyncio.run(_run(flags))
    except (FloorError, KeyboardInterrupt) as error:
        _say(_unknown(flags, str(error) or "interrupted"))
        return int(State.UNKNOWN)
    _say(json.dumps(document(verdict)) if flags.json else line(verdict))
    return int(state(verdict))


def _unknown(flags: argparse.Namespace, error: str) -> str:
    """Return what to print when there is no verdict; as JSON an object of `url`, `state` and `error` alone."""
    if flags.json:
        return json.dumps({"url": flags.url, "state": State.UNKNOWN.name, "error": error})
    return f"{State.UNKNOWN.name} {error}"


def _say(text: str) -> None:
    """Print a line. The exit code says the same, so a reader that has gone is no failure; a full disk is named."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        return
    except OSError as error:
        print(f"the answer could not be written: {error.strerror}", file=sys.stderr)


async def _run(flags: argparse.Namespace) -> Verdict:
    """Check the engine that the flags name. Raise FloorError if they cannot be meant, or leave open which model."""
    target = Target(
        name=flags.model or "engine",
        url=flags.url,
        model=flags.model or "",
        dialect=flags.dialect,
        task=flags.task,
        key=_key(flags.key_file),
        stall=flags.stall,
        min_speed=flags.min_speed,
    )
    target = replace(target, probe_timeout=min(target.probe_timeout, flags.timeout))
    ends = monotonic() + flags.timeout
    asyncio.get_running_loop().set_default_executor(_Threads())
    async with make_client() as client:
        if flags.model is None:
            found = await _only_model(client, target)
            if isinstance(found, Verdict):
                return found
            target = replace(target, name=found, model=found)
        return await check(client, target, timeout=max(0.1, ends - monotonic()))


async def _only_model(client: httpx.AsyncClient, target: Target) -> str | Verdict:
    """Return the one model that the engine lists, or the verdict if there is no list to read.

    Raise FloorError if it lists several, or none.
    """
    sample = await look(client, target, clock=monotonic)
    if sample.served is None:
        return judge(target, History(), sample)[1]
    if not sample.served:
        raise FloorError(f"{target.url} lists no model; name the one it should serve with --model")
    names = [name for name in sample.served if name.removesuffix(":latest") == name or name[:-7] not in sample.served]
    if len(names) > 1:
        raise FloorError(f"{target.url} lists {', '.join(names)}; choose one with --model")
    return names[0]


def _key(path: Path | None) -> str | None:
    """Return the engine key from the file, else from the environment; None without either. Raise FloorError."""
    if path is None:
        return os.environ.get(KEY_VARIABLE) or None
    try:
        key = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise FloorError(f"--key-file {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FloorError(f"--key-file {path}: not one line of ASCII text; it must hold the engine key alone") from error
    if not key:
        raise FloorError(f"--key-file {path}: is empty; it must hold the engine key")
    return key
