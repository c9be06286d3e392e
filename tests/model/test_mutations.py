"""The model can fail: what it is to find is found when it is put in."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from floor.box import lease
from floor.operations import deploy as operation
from floor.plan import deploy, gate, lanes, services, serving, swap, switch
from floor.plan.pools import Between
from floor.plan.steps import Plan
from tests.model import commands, faults
from tests.model.stories import STORIES, Story
from tests.model.trial import Run, begun, overtaken_at, tried, undisturbed
from tests.simulated.caller import Caller
from tests.simulated.situation import Situation

Put = Callable[[pytest.MonkeyPatch], None]


def _without(call: str, *functions: str, member: bool | None = None) -> Put:
    """Leave the steps of one call out of what these functions of `lanes` return."""

    def put(monkeypatch: pytest.MonkeyPatch) -> None:
        for name in functions:
            real = getattr(lanes, name)

            def less(*given: Any, real: Any = real, **named: Any) -> Any:
                steps = real(*given, **named)
                return [one for one in steps if one.call != call or member not in (None, one.params.get("member"))]

            monkeypatch.setattr(lanes, name, less)

    return put


def _never_waited_until_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = lanes.bring_down
    monkeypatch.setattr(
        lanes,
        "bring_down",
        lambda *given: [
            dataclasses.replace(one, until=None, params={**one.params, "timeout": 0}) for one in real(*given)
        ],
    )


def _nobody_minds_the_last_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving.Serving, "only", lambda *_given: False)
    real = lanes.take_out
    monkeypatch.setattr(lanes, "take_out", lambda aim, copy, why, **_last: real(aim, copy, why, last=True))


def _pools_know_only_what_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "between", lambda _present, wanted, *_rest: Between(wanted, frozenset()))


def _recorded_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is kept is taken for a deployment that is done."""
    real = deploy.plan_deploy

    def plan(aim: Any, text: str) -> Plan:
        return Plan() if all(seen.config == text for seen in aim.seen.values()) else real(aim, text)

    monkeypatch.setattr(operation, "plan_deploy", plan)


def _both_modes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "plan_leaving", lambda *_given: [])


def _the_mode_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "plan_mode", lambda *_given: [])


def _nothing_holds_what_is_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "_hold", lambda *_given: [])


def _nobody_waits_for_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "passed", lambda *_given: True)


def _anybody_may_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "held", lambda record, *_given: dict(record))


def _a_lease_never_lapses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "live", lambda record, _now: record is not None and record["state"] == "live")


ONE = dataclasses.replace(STORIES["one box, forced"], command=commands.deploy, guarded=frozenset({"flagship"}))
PLANNERS: dict[str, tuple[Put, Story]] = {
    "no drain": (_without("drain.add", "take_out"), STORIES["rolling change"]),
    "no wait until the engine has finished": (_without("engine.idle", "take_out"), STORIES["rolling change"]),
    "no wait until the engine is gone": (_never_waited_until_it_is_gone, STORIES["restart"]),
    "no wait for memory": (_without("memory.wait", "bring_up"), STORIES["rolling change"]),
    "not let in again": (_without("drain.remove", "let_in"), STORIES["rolling change"]),
    "the next one goes before this one is in": (_without("pool.wait", "let_in"), STORIES["rolling change"]),
    "pools without the old backends": (_pools_know_only_what_is_wanted, STORIES["other port"]),
    "the last copy is taken": (_nobody_minds_the_last_copy, ONE),
    "both modes at once": (_both_modes_at_once, STORIES["to split"]),
    "the mode stays": (_the_mode_stays, STORIES["to split"]),
    "nothing holds what is untested": (_nothing_holds_what_is_untested, STORIES["swap"]),
    "nobody waits for the test": (_nobody_waits_for_the_test, STORIES["swap that is blocked"]),
    "done before it is": (_recorded_alone, STORIES["rolling change"]),
}
LEASES: dict[str, Put] = {"anybody may call": _anybody_may_call, "a lease never lapses": _a_lease_never_lapses}
FALLS = (faults.killed, faults.power_cut)
EVERY = 5  # calls: a fault at some of them is enough


@pytest.mark.parametrize("name", PLANNERS)
def test_a_mistake_of_the_planner_is_found(situation: Situation, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    put, story = PLANNERS[name]
    story.prepare(situation)
    put(monkeypatch)
    assert _found(story, situation)


@pytest.mark.parametrize("name", LEASES)
def test_a_mistake_of_the_lease_is_found(situation: Situation, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    story = STORIES["rolling change"]
    asked = undisturbed(story, situation).asked
    LEASES[name](monkeypatch)
    fault = faults.overtaken(commands.deploy, lambda other: other.edit("max_requests: 13", "max_requests: 14"))
    assert any(overtaken_at(story, situation, fault, commands.deploy, at) for at in range(8, len(asked), EVERY))


def _found(story: Story, situation: Situation) -> bool:
    """Whether the model says that something is wrong: without any fault, or with one at some of the calls."""
    whole = copy.deepcopy(situation)
    whole.world.guarded = story.guarded
    whole.fate = caller = Caller(0)
    if story.command(whole) != 0 or story.ends(whole) or whole.world.wrong or whole.world.cut:
        return True
    run = Run(caller.asked, begun(whole))
    moments = range(EVERY, len(run.asked), EVERY)
    return any(tried(story, situation, run, fault, at, after=True) for at in moments for fault in FALLS)
