"""A whole run: who is tested, which trials, what came of them; and the gate's two stages over it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from floor.errors import EndpointError

from ..report.result import Result
from ..suite import read
from ..suite.scenario import Scenario
from ..trial.record import Record
from ..trial.recorded import unanswered
from ..verdict import gate
from ..verdict.agreement import agree
from . import probes, teb
from .identity import identity
from .log import Log
from .plan import FRESH, Tier, left_out, scenarios, trials
from .runner import Run
from .send import Endpoint, make_client

MOST_MISSING = 0.5  # share of trials without an answer beyond which there is no verdict
# And no baseline: each counts as a failure, so with more of them a build that is worse by points would pass. One
# scenario of sixty may never be answered.
MOST_MISSING_BEFORE = 0.02
TOO_MANY = "; too many to compare with: the same command makes them again, best with fewer at once"


@dataclass(frozen=True)
class Options:
    """What a run is asked for. `numbers`: how many trials of each scenario. `stated`: what the operator says of the
    build. `log`: the trial log. `teb`: the program of tool-eval-bench, "" to leave it. `bar`: it is to be a
    baseline. `say` takes lines for a person, `progress` done, total and seconds left."""

    endpoint: Endpoint
    tier: Tier
    numbers: int
    seed: int = 0
    sampling: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    concurrency: int = 8
    log: Path = Path("tooltest.jsonl")
    stated: Mapping[str, str] = field(default_factory=dict)
    load: bool = False
    teb: str = ""
    bar: bool = False
    say: Callable[[str], None] = lambda line: None  # noqa: ARG005
    progress: Callable[[int, int, float], None] = lambda done, total, left: None  # noqa: ARG005

    @property
    def setting(self) -> dict[str, Any]:
        """What must agree with a baseline."""
        sampling = dict(self.sampling)
        return {"suite": read.digest(), "seed": self.seed, "sampling": sampling, "system": self.system}


def calls_first(suite: Sequence[Scenario]) -> frozenset[str]:
    """The scenarios whose first answer must call something."""
    return frozenset(one.id for one in suite if one.turns[0].calls and one.turns[0].choice != "none")


async def measure(options: Options) -> Result:
    """Make the trials of a tier, and what stands beside them. Raises EndpointError, UsageError."""
    return await _Session.open(options, _only)


async def decide(options: Options, baseline: Sequence[Record], *, identical: bool) -> tuple[Result, gate.Verdict]:
    """Make the trials of a gate, the fresh ones too where the first leave it open, and return both result and verdict.

    Raises EndpointError where so many trials had no answer that no verdict can rest on them.
    """
    found: list[gate.Verdict] = []

    async def judged(session: _Session) -> Sequence[Record]:
        first = await session.trials(range(options.numbers))
        said = gate.decide(baseline, first, identical=identical)
        fresh: Sequence[Record] = ()
        if said.word == gate.MORE:
            options.say(f"not clear yet: {said.reasons[0]}; {FRESH} fresh trials of each scenario")
            fresh = await session.trials(range(options.numbers, options.numbers + FRESH))
            said = gate.decide(baseline, first, fresh, identical=identical)
        found.append(said)
        return [*first, *fresh]

    result = await _Session.open(options, judged)
    return result, found[0]


async def _only(session: _Session) -> Sequence[Record]:
    return await session.trials(range(session.options.numbers))


@dataclass
class _Session:
    options: Options
    run: Run
    log: Log
    suite: Sequence[Scenario]
    chosen: Sequence[Scenario]
    context: int | None

    @classmethod
    async def open(cls, options: Options, work: Callable[[_Session], Any]) -> Result:
        begun, processor = time.monotonic(), time.process_time()
        suite = read.suite()
        chosen = scenarios(suite, options.tier.each)
        async with make_client(options.endpoint) as client:
            tested = await identity(client, options.endpoint.model, options.stated)
            run = Run(client, tested["model"], options.seed, options.concurrency, options.sampling, options.system)
            run.progress = options.progress
            about = {**options.setting, "tier": options.tier.name, "trials": options.numbers, "tested": tested}
            with Log(options.log, about, again=options.bar) as log:
                if log.done:
                    options.say(f"goes on from {options.log}: {len(log.done)} trials are made")
                session = cls(options, run, log, suite, chosen, tested["context"])
                records = await work(session)
                beside = await session.probes()
        return Result(
            setting=options.setting,
            tier=options.tier.name,
            concurrency=options.concurrency,
            tested={name: value for name, value in tested.items() if value is not None},
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - begun, 3),
            harness=round(time.process_time() - processor, 3),
            left_out=left_out(chosen, tested["context"]),
            trials=records,
            probes=beside,
        )

    async def trials(self, numbers: range) -> list[Record]:
        """Make these trials of each scenario. Raises EndpointError where most have no answer."""
        most = int(self.options.sampling["max_tokens"])
        todo = trials(self.suite, self.chosen, numbers, context=self.context, most=most)
        if not todo:
            raise EndpointError(f"{self.run.client.base_url}: its context of {self.context} tokens fits no scenario")
        records = await self.run.make(todo, self.log)
        missing = [one for one in records if unanswered(one)]
        if len(missing) > (MOST_MISSING_BEFORE if self.options.bar else MOST_MISSING) * len(records):
            told = f"{len(missing)} of {len(records)} trials had no answer, the first: {missing[0].error}"
            raise EndpointError(f"{self.run.client.base_url}: {told}{TOO_MANY if self.options.bar else ''}")
        return agree(records, calls_first(self.suite))

    async def probes(self) -> dict[str, Any]:
        found = {"prompt": await probes.fingerprint(self.run)}
        if self.options.load:
            found["a_b_a"] = await probes.a_b_a(self.run, self.suite)
            found["load"] = await probes.load(self.run, self.suite)
        if self.options.teb:
            self.options.say("tool-eval-bench runs beside")
            found["tool-eval-bench"] = await teb.run(self.options.teb, self.options.endpoint, self.run.model)
        return found
