"""The command `python -m floor.tooltest`, which is `floor tooltest` as well."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from floor.errors import FloorError, UsageError

from .flags import options, parser
from .report import junit, page, table
from .report.result import Result, comparable, read, write
from .report.summary import blind, summary
from .run import probes, session
from .run.log import finish
from .run.plan import TIERS
from .suite import book
from .suite import read as suites
from .verdict import gate
from .verdict.gate import BLOCK, HOLD, Verdict

Flags = argparse.Namespace
EXIT = {gate.PASS: 0, BLOCK: 1, HOLD: 6}
DOWN = 7  # no verdict; 1 is a build that is worse
INTERRUPTED = 130


def main(argv: Sequence[str]) -> int:
    """Given the arguments without a program name, run one command and return its exit code.

    0 done, or PASS · 1 BLOCK; of what judges nothing, failed · 2 the command line or a file cannot be meant · 6 HOLD ·
    7 the endpoint or the test itself was down before there was a verdict.
    """
    try:
        flags = parser().parse_args(argv)
    except SystemExit as end:  # --help and usage errors, already printed
        return int(end.code or 0)
    try:
        return int(_COMMANDS[flags.command](flags))
    except FloorError as error:
        print(f"error: {error}{_goes_on(flags)}", file=sys.stderr)
        return _ended(flags, error)
    except KeyboardInterrupt:
        print(f"interrupted{_goes_on(flags)}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads it any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("FLOOR_DEBUG"):
            raise
        told = FloorError(_unexpected(error))
        print(f"error: {told}{_goes_on(flags)}", file=sys.stderr)
        return _ended(flags, told)


def _unexpected(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is None:  # stdout, which has no name
        return f"the report cannot be written: {error.strerror}"
    return f"this is a defect of floor: {type(error).__name__}: {error}; FLOOR_DEBUG=1 shows where, please report it"


def _ended(flags: Flags, error: FloorError) -> int:
    """The exit code of what came to no end; CI is told as well, which else would read the file of the run before."""
    code = DOWN if error.exit_code == 1 and flags.command in ("gate", "compare") else error.exit_code
    if getattr(flags, "junit", None) and code in (1, DOWN):
        with suppress(FloorError):  # it may be what could not be written
            write(flags.junit, junit.down(str(error)))
    return code


def _goes_on(flags: Flags) -> str:
    """How to go on from a run's own trial log; one in which nothing is written down is cleared away."""
    if not getattr(flags, "own_log", False) or not flags.log.exists():
        return ""
    if flags.log.stat().st_size:
        return f"\n  what was done is in a trial log: the same command with --log {flags.log} goes on from it"
    flags.log.unlink()
    return ""


def _over(flags: Flags) -> None:
    """Everything is told and written: the trial log has served."""
    if flags.own_log:
        flags.log.unlink(missing_ok=True)
    else:
        finish(flags.log)


def _run(flags: Flags) -> int:
    result = asyncio.run(session.measure(options(flags)))
    _tell(flags, result, None)
    _over(flags)
    return 0


def _baseline(flags: Flags) -> int:
    if flags.save.exists() and not flags.replace:
        raise UsageError(f"{flags.save}: is there already; --replace writes over it")
    result = asyncio.run(session.measure(replace(options(flags), bar=True)))
    write(flags.save, json.dumps(result.document(), ensure_ascii=False))
    _tell(flags, result, None)
    _over(flags)
    print(f"written     {flags.save}", file=sys.stderr)
    if told := blind(result):
        print(f"note        {told}", file=sys.stderr)
    return 0


def _gate(flags: Flags) -> int:
    before = read(flags.baseline)
    asked = options(flags, before)
    _comparable(flags, before, asked.setting)
    result, verdict = asyncio.run(session.decide(asked, before.trials, identical=flags.identical))
    _tell(flags, result, verdict, before)
    _over(flags)
    return EXIT[verdict.word]


def _compare(flags: Flags) -> int:
    before, after = read(flags.before), read(flags.after)
    _comparable(flags, before, after.setting)
    count = TIERS["gate"].trials
    first = [one for one in after.trials if one.trial < count]
    fresh = [one for one in after.trials if one.trial >= count]
    verdict = gate.decide(before.trials, first, fresh, identical=flags.identical)
    if verdict.word == gate.MORE:
        verdict = gate.unclear(verdict)
    _tell(flags, after, verdict, before)
    return EXIT[verdict.word]


def _comparable(flags: Flags, before: Result, setting: Mapping[str, Any]) -> None:
    try:
        comparable(before.setting, setting, str(flags.baseline if flags.command == "gate" else flags.before))
    except UsageError as error:
        if flags.junit:
            write(flags.junit, junit.refused(str(error)))
        raise


def _answers(_: Flags) -> int:
    print(book.text(suites.suite()))
    return 0


def _curve(flags: Flags) -> int:
    from .verdict import curve_page

    for line in curve_page.lines(flags.gates):
        print(line, flush=True)
    return 0


_COMMANDS = {
    "run": _run,
    "baseline": _baseline,
    "gate": _gate,
    "compare": _compare,
    "answers": _answers,
    "curve": _curve,
}


def _tell(flags: Flags, result: Result, verdict: Verdict | None, before: Result | None = None) -> None:
    """Write every report that was asked for, and the table or the JSON."""
    document = result.document() | {"summary": summary(result), "verdict": None}
    beside = [*_less(before, result), *probes.compare(dict(before.probes), dict(result.probes))] if before else []
    if verdict is not None and before is not None:
        document["verdict"] = _verdict(verdict) | {"baseline_tested": dict(before.tested), "beside": beside}
    files: dict[Path | None, str] = {
        flags.output: json.dumps(document, ensure_ascii=False, indent=1) if flags.output else "",
        flags.junit: junit.xml(result, verdict, before) if flags.junit else "",
        flags.markdown: page.markdown(result, verdict) if flags.markdown else "",
    }
    for path, text in files.items():
        if path is not None:
            write(path, text)
    if flags.json:
        print(json.dumps(document, ensure_ascii=False))
        return
    for line in (*table.lines(result, verdict), *(f"            beside: {one}" for one in beside)):
        print(line)


def _less(before: Result, result: Result) -> list[str]:
    """What makes a verdict say less: scenarios that fitted the context before, a baseline that shows little."""
    gone = [one for one in result.left_out if one not in before.left_out]
    found = [f"the context is smaller than before: {', '.join(gone)} did not fit"] if gone else []
    return [*found, *filter(None, [blind(before)])]


def _verdict(verdict: Verdict) -> dict[str, object]:
    figures = {
        name: round(getattr(verdict, name), 2) for name in ("baseline", "candidate", "difference", "low", "high")
    }
    return {
        "word": verdict.word,
        "reasons": list(verdict.reasons),
        **figures,
        "could_see": round(verdict.could_see, 2),
        "broken": [vars(one) for one in verdict.broken],
    }


def main_here() -> int:
    """With the words of this process."""
    return main(sys.argv[1:])
