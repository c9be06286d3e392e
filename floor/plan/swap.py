"""Another build of a model, copy by copy: each is tested outside the pools, and only then let in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from floor.box.away import SWAP
from floor.errors import FloorError
from floor.plan import builds, gate, holders, lanes, tool_test
from floor.plan.aim import Aim, Wanted
from floor.plan.copies import comes_up, part_files, plan_copies
from floor.plan.deploy import plan_deploy
from floor.plan.outage import duration, expected
from floor.plan.serving import Serving
from floor.plan.steps import Plan, Stage, Step, beside, stage
from floor.plan.tool_test import GATE, QUICK, Swap

FAILED = "FAILED"
TEST_GUESS = 480.0  # seconds of 180 trials against a model of some size


class GatedError(FloorError):
    """The tool test does not let a copy in. `word` is BLOCK, HOLD or FAILED, `told` what the box tells of it."""

    def __init__(self, copy: Wanted, told: Mapping[str, Any]) -> None:
        self.copy, self.told, self.word = copy, told, str(told["word"])
        reasons = "; ".join(str(one) for one in told.get("reasons") or ())
        super().__init__(f"{copy.backend}: {self.word}: {reasons}")
        self.exit_code = 7 if told.get("down") else 6 if self.word == gate.HOLD else 1


def plan_swap(aim: Aim, text: str, swap: Swap) -> Plan:
    """Given the aim and the text of the floor.yaml with the new build, return what is left to do; empty when nothing
    is. Raise GatedError where the test of a copy that runs says no, or not enough."""

    def planner(
        aim: Aim, serving: Serving, leaving: Collection[str] = (), among: Collection[str] | None = None
    ) -> list[Stage]:
        chosen = [copy for copy in aim.copies if among is None or copy.backend in among]
        gated = [copy for copy in chosen if copy.model == swap.model and _is_gated(aim, copy)]
        rest = [copy.backend for copy in chosen if copy not in gated]
        return [*_gated(aim, serving, gated, swap), *plan_copies(aim, serving, leaving, rest)]

    return plan_deploy(aim, text, planner)


def held(aim: Aim, model: str) -> bool:
    """Whether a copy of a model is kept out of a pool because the build that it is to have has not been tested."""
    return any(_held(aim, copy) for copy in aim.copies if copy.model == model)


def _is_gated(aim: Aim, copy: Wanted) -> bool:
    """Whether a copy is to be tested before it serves: its build becomes another, it is held until it has passed, or it
    does not run, so that nobody knows what it would answer."""
    if _held(aim, copy) or builds.changing(aim, copy):
        return True
    return copy.backend not in aim.replaced and not aim.active(copy)


def _held(aim: Aim, copy: Wanted) -> bool:
    name = holders.untested(copy.state.launch.digest)
    return any(drain.holder == name for proxy in aim.proxies for drain in proxy.drained(copy.backend))


def _gated(aim: Aim, serving: Serving, copies: list[Wanted], swap: Swap) -> list[Stage]:
    """Copies that run the new build already come first: they take nothing away."""
    stages: list[Stage] = []
    made: set[str] = set()
    passed = {builds.wanted(aim, copy).digest for copy in aim.copies if copy.model == swap.model and _good(aim, copy)}
    order = sorted(copies, key=lambda one: (_old(aim, one), serving.everywhere(one.model, one.backend)))
    for copy in order:
        build = builds.wanted(aim, copy).digest
        tier = QUICK if build in passed else GATE
        stages += _one(aim, serving, copy, swap, tier, made)
        serving.joins(copy, passes=True)
        passed.add(build)
    return stages


def _good(aim: Aim, copy: Wanted) -> bool:
    """Whether the build of a copy is known to be good: its process has passed."""
    return copy.backend not in aim.replaced and aim.active(copy) and gate.passed(aim, copy)


def _old(aim: Aim, copy: Wanted) -> bool:
    return copy.backend in aim.replaced or not aim.running(copy)


def _one(aim: Aim, serving: Serving, copy: Wanted, swap: Swap, tier: str, made: set[str]) -> list[Stage]:
    new = copy.backend not in aim.replaced and aim.active(copy)
    if new and gate.passed(aim, copy):
        return stage(f"let in {copy.backend}", lanes.let_in(aim, copy))
    if new and (told := gate.verdict(aim, copy)) and told.get("tier") in (tier, GATE):
        if (copy.unit, told["invocation"]) not in swap.accepted:
            raise GatedError(copy, told)
        return stage(f"let in {copy.backend}", [_accept(copy, told, swap)])
    if told := _failed_now(aim, copy):
        raise GatedError(copy, told)
    name = tool_test.name(aim, copy, swap)
    if name is not None and name not in made and not tool_test.where(aim, swap.model, name):
        made.add(name)
        first = tool_test.baseline(serving, tool_test.maker(aim, copy, swap, name), name, swap.given)
    else:
        first = []
    test = [*tool_test.brought(aim, copy, name), tool_test.test(aim, copy, swap, tier, name)]
    tested = stage(f"test {copy.backend}", [*_hold(aim, copy), *test]) if new else _changed(aim, serving, copy, test)
    return [*first, *tested, *stage(f"let in {copy.backend}", lanes.let_in(aim, copy))]


def _failed_now(aim: Aim, copy: Wanted) -> Mapping[str, Any]:
    """What is told of a test of this very operation that came to no verdict, of a process that is gone since: the build
    does not survive its test."""
    seen = aim.seen[copy.box]
    told = seen.tests.get(copy.unit) or {}
    here = seen.operation is not None and seen.operation.live and told.get("epoch") == seen.operation.epoch
    return told if here and (told.get("word"), told.get("launch")) == (FAILED, copy.state.launch.digest) else {}


def _changed(aim: Aim, serving: Serving, copy: Wanted, test: list[Step]) -> list[Stage]:
    """The new build in place of what runs, held out of every pool, and its test."""
    why = aim.replaced.get(copy.backend) or "it does not run"
    last = serving.only(copy.model, {copy.backend}) and bool(serving.anyone(copy.model))
    out = lanes.take_out(aim, copy, why, last=last) if aim.running(copy) else []
    left = any(unit.running or unit.left for unit in aim.units(copy))
    down = lanes.bring_down(copy, why) if left else []
    files, again = part_files(aim, copy)
    comes = aim.running(copy) and all(comes_up(unit, copy) for unit in aim.units(copy))
    if comes and not again and copy.backend not in aim.replaced:
        lane = [*_hold(aim, copy), *files, *lanes.wait_warm(copy), *test]
    else:
        lane = [*out, *down, *_hold(aim, copy), *files, *lanes.bring_up(aim, copy, why), *test]
    outage = (copy.model,) if last and out else ()
    lane = [*_announce(aim, copy), *lane] if outage else lane
    serving.leaves(copy.model, {copy.backend})
    return stage(f"change {copy.backend} and test it", lane, outage=outage)


def _announce(aim: Aim, copy: Wanted) -> list[Step]:
    """Tell every pool how long the model will be away: clients are told with each 503."""
    seconds = away(aim, copy)
    params = {"mode": SWAP, "models": {copy.model: round(seconds)}}
    text = f"tell clients that {copy.model} is away for about {duration(seconds)}"
    return beside([Step(proxy.box, "pool.announce", params, text) for proxy in aim.proxies])


def away(aim: Aim, copy: Wanted) -> float:
    """Given the only copy of a model, return for how many seconds nobody answers: its stop, its start and its test, as
    they took last on its box, else as they are guessed."""
    found = expected(aim, [copy], [copy])
    tested = aim.seen[copy.box].tests.get(copy.unit) or {}
    return (found.seconds if found else 0.0) + float(tested.get("seconds") or TEST_GUESS)


def _hold(aim: Aim, copy: Wanted) -> list[Step]:
    """Keep the copy out of every pool until it has passed, whatever becomes of this operation."""
    holder, why = holders.untested(copy.state.launch.digest), "its build has not passed the tool test"
    drain = {"backend": copy.backend, "holder": holder, "last": True, "outlives": True}
    text = f"keep {copy.backend} out of the pool"
    return [
        Step(proxy.box, "drain.add", drain, text, why)
        for proxy in aim.proxies
        if all(one.holder != holder for one in proxy.drained(copy.backend))
    ]


def _accept(copy: Wanted, told: Mapping[str, Any], swap: Swap) -> Step:
    params = {"unit": copy.unit, "invocation": told["invocation"], "by": swap.by}
    return Step(copy.box, "tooltest.accept", params, f"let {copy.backend} in as it is", f"{swap.by} accepts the HOLD")
