"""The task of a tool test: the engine of one unit is asked directly, and what came of it is kept on its box."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from floor.agent import engine_key
from floor.box import events, systemctl, tested
from floor.box.command import run as run_command
from floor.box.report import Report
from floor.errors import EndpointError, FloorError
from floor.tooltest.report import page, table
from floor.tooltest.report import result as results
from floor.tooltest.report.result import Result
from floor.tooltest.report.summary import blind
from floor.tooltest.run import session
from floor.tooltest.run.plan import BASELINE, TIERS
from floor.tooltest.run.send import Endpoint
from floor.tooltest.run.session import Options
from floor.tooltest.show import remaining
from floor.tooltest.suite import read
from floor.tooltest.verdict import gate
from floor.tooltest.verdict.gate import Verdict

SAMPLING = {"temperature": 0.0, "max_tokens": 1024}  # what a call and a sentence need, many times over
ANSWER_SECONDS = 300.0
BASE, GATE, QUICK = "baseline", "gate", "quick"
NOTHING = "there is no baseline of the build before: nothing to compare with"


def work(job: Mapping[str, Any], _secret: str | None, report: Report, root: Path) -> dict[str, Any]:
    """Given the job of `tooltest.run`, do it and return {word}. Raise FloorError where the engine was started anew
    meanwhile, EndpointError where it does not answer."""
    try:
        return _work(job, report, root)
    except FloorError as error:
        if job["tier"] != BASE:  # also where its engine is gone, and nobody would ask what became of its test
            tested.failed(job, str(error), down=isinstance(error, EndpointError), root=root)
        raise


def _work(job: Mapping[str, Any], report: Report, root: Path) -> dict[str, Any]:
    before = _before(job, root)
    options = _options(job, before, report, root)
    if job["tier"] == BASE:
        found = asyncio.run(session.measure(options))
        _demand_same(job)
        bare = replace(found, trials=[replace(one, exchanges=()) for one in found.trials])
        tested.put(job["model"], job["name"], json.dumps(bare.document(), ensure_ascii=False), root)
        word, words = "DONE", "\n".join(table.lines(found))
    else:
        found, verdict = _judged(options, before, identical=job["tier"] == QUICK)
        _demand_same(job)
        word, words = verdict.word, "; ".join(verdict.reasons)
        told = _told(job, found, verdict) | {"note": blind(before) if before else ""}
        tested.keep(job["unit"], told, page.markdown(found, verdict), root)
    text = f"tool test of {job['backend']}, {job['tier']}: {word}"
    events.append("floor-tooltest", text, {"why": words, "launch": job["launch"]}, at=time.time(), root=root)
    tested.log(job["task"], root).unlink(missing_ok=True)
    return {"word": word}


def _judged(options: Options, before: Result | None, *, identical: bool) -> tuple[Result, Verdict]:
    if before is not None:
        return asyncio.run(session.decide(options, before.trials, identical=identical))
    found = asyncio.run(session.measure(options))
    return found, replace(gate.decide((), found.trials), word=gate.HOLD, reasons=(NOTHING,))


def _told(job: Mapping[str, Any], found: Result, verdict: Verdict) -> dict[str, Any]:
    return {
        **{field: job[field] for field in tested.FIELDS},
        "backend": job["backend"],
        "build": job["build"],
        "word": verdict.word,
        "reasons": list(verdict.reasons),
        "baseline": round(verdict.baseline, 1),
        "score": round(verdict.candidate, 1),
        "seconds": round(found.seconds, 1),
        "at": round(time.time()),
    }


def _before(job: Mapping[str, Any], root: Path) -> Result | None:
    if job["tier"] == BASE or job["against"] is None:
        return None
    return results.read(tested.baseline(job["model"], job["against"], root))


def _options(job: Mapping[str, Any], before: Result | None, report: Report, root: Path) -> Options:
    tier = TIERS[GATE if job["tier"] == BASE else job["tier"]]
    setting: Mapping[str, Any] = before.setting if before else {"sampling": SAMPLING}

    def progress(done: int, total: int, left: float) -> None:
        report.done, report.total = done, total
        report.say(f"{job['tier']}: {done} of {total} trials, about {remaining(left)} left")

    key = engine_key.taken(job["url"], root) if job["key"] else ""
    options = Options(
        endpoint=Endpoint(job["url"], job["model"], key, ANSWER_SECONDS),
        tier=tier,
        numbers=BASELINE if job["tier"] == BASE else tier.trials,
        seed=setting.get("seed", 0),
        sampling=setting["sampling"],
        system=setting.get("system", ""),
        concurrency=job["concurrency"],
        log=tested.log(job["task"], root),
        stated={"launch": job["launch"], "build": job["build"]},
        bar=job["tier"] == BASE,
        say=report.note,
        progress=progress,
    )
    if before is not None:
        results.comparable(before.setting, options.setting, f"the baseline {job['against']} of {job['model']}")
    return options


def _demand_same(job: Mapping[str, Any]) -> None:
    """Raise FloorError where it is not one process that was tested from first to last."""
    now = systemctl.show([job["unit"]], run_command)[job["unit"]]
    if (now.active, now.invocation) != ("active", job["invocation"]):
        raise FloorError(f"{job['unit']}: was stopped or started anew while it was tested; run the same command again")


def suite() -> str:
    """What tells the scenarios of this release from others."""
    return read.digest()
