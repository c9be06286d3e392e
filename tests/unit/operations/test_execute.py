"""Carrying out steps: waiting, giving up, killing, losing the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from floor.apply.transport import UnreachableError
from floor.errors import BusyError, FloorError, RefusedError
from floor.operations import swap
from floor.operations.change import Change
from floor.operations.execute import Execution, StepError
from floor.operations.together import in_threads
from floor.plan.steps import Plan, Stage, Step, Until, beside
from tests.simulated.situation import Situation, asleep

WARM = Until("active", 100.0, value="active", crashed=True)


class Answers:
    """A box's agent that gives these answers in turn, the last one for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(self, name: str, params: dict[str, Any], *, timeout: float = 30) -> Any:
        self.calls.append((name, params))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Held:
    """A lease that nobody takes away."""

    epoch = 7
    reason = "somebody else"
    record: dict[str, Any] = {"verb": "deploy"}  # noqa: RUF012 # read only

    def __init__(self) -> None:
        self.lost = threading.Event()


class Table:
    """A site of boxes that answer from a list; time passes only by sleeping."""

    def __init__(self, **boxes: Answers) -> None:
        self.boxes, self.now = boxes, 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 10.0)

    def together(self, calls: list[Callable[[], Any]]) -> list[Any]:
        return in_threads(calls)


def execution(said: list[str], **boxes: Answers) -> Execution:
    return Execution(Table(**boxes), Held(), said.append, said.append)  # type: ignore[arg-type] # only what is used


def wait(until: Until = WARM, call: str = "unit.wait") -> Step:
    return Step("a", call, {"unit": "u.service", "until": "active"}, "wait until it is warm", until=until)


def failed(step: Step, *answers: Any) -> str:
    with pytest.raises(FloorError) as error:
        execution([], a=Answers(*answers)).step(step)
    return str(error.value)


def test_a_unit_that_fails_ends_the_wait() -> None:
    told = failed(wait(), {"active": "activating"}, {"active": "failed", "result": "exit-code", "log": "no card"})
    assert told.startswith("a: u.service does not stay up (exit-code): no card\n  the rest stays as it was; see `floor")


def test_a_unit_that_keeps_dying_ends_the_wait() -> None:
    again = {"active": "activating", "result": "success", "restarts": 5}
    assert "a: u.service does not stay up (activating)" in failed(wait(), {**again, "restarts": 3}, again)


def test_a_unit_that_is_skipped_ends_the_wait() -> None:
    """Its ExecCondition says no: it is inactive, and no failure."""
    told = failed(wait(), {"active": "inactive", "result": "exec-condition", "restarts": 0})
    assert "a: u.service does not stay up (exec-condition)" in told


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"active": "activating", "log": "loading"}, "not within 100 s: loading; see `floor logs` and `floor status`"),
        ({"fits": False, "needed": 50 << 30, "available": 3 << 30}, "it needs 50.0 GiB, 3.0 GiB are free; see"),
        ({"reached": False, "reason": "not a member: hung"}, "not within 100 s: not a member: hung; see"),
        ({"stopped": False, "left": [7, "container x"]}, "not within 100 s: still there: 7, container x; see"),
        ({"active": "activating"}, "not within 100 s; see"),
    ],
)
def test_what_is_late_says_what_the_box_said(answer: dict[str, Any], told: str) -> None:
    assert told in failed(wait(), answer)


def test_what_came_of_it_is_said() -> None:
    said: list[str] = []
    over = Until("over", 30.0)
    execution(said, a=Answers({"over": False}, {"over": True, "said": "PASS: 86 of 100, 85 before"})).step(wait(over))
    assert said[-1] == "  a: PASS: 86 of 100, 85 before"


def test_what_may_be_late_goes_on() -> None:
    said: list[str] = []
    idle = Until("idle", 30.0, late="go on")
    execution(said, a=Answers({"idle": False, "running": 3, "waiting": 1})).step(wait(idle))
    assert said[-1] == "  a: wait until it is warm: not within 30 s: 3 running, 1 waiting, going on"
    assert said[0] == "  a: wait until it is warm (0 s): 3 running, 1 waiting"


def both(*calls: str) -> Stage:
    return Stage(
        "both",
        (
            tuple(
                beside(
                    [Step(box, call, {}, f"{call} {box}", why="because") for box, call in zip("ab", calls, strict=True)]
                )
            ),
        ),
    )


def test_steps_beside_each_other_do_not_wait_for_each_other() -> None:
    """Each is under way before either ends."""
    meet = threading.Barrier(2, timeout=10)

    class Meets(Answers):
        def call(self, name: str, params: dict[str, Any], *, timeout: float = 30) -> Any:
            meet.wait()
            return super().call(name, params, timeout=timeout)

    said: list[str] = []
    execution(said, a=Meets({}), b=Meets({})).stage(both("unit.start", "unit.start"))
    assert said == ["both", "  a: unit.start a   [because]", "  b: unit.start b"]


def test_one_that_fails_does_not_keep_the_one_beside_it_and_ends_the_lane() -> None:
    a, b = Answers(RefusedError("a: no")), Answers({})
    (stage,) = [both("drain.add", "drain.add")]
    after = Step("b", "unit.stop", {}, "stop it")
    with pytest.raises(RefusedError, match=r"^a: no$"):
        execution([], a=a, b=b).stage(Stage("both", ((*stage.lanes[0], after),)))
    assert [name for name, _ in b.calls] == ["drain.add"]


def test_what_does_not_stop_is_killed_once() -> None:
    said: list[str] = []
    left = {"stopped": False, "left": [7]}
    box = Answers(left, left, left, {}, {"stopped": True})
    execution(said, a=box).step(wait(Until("stopped", 20.0, late="kill"), "unit.stop"))
    assert [name for name, _ in box.calls].count("unit.kill") == 1
    assert "  a: wait until it is warm: still there, ending it at once (pids [7])" in said
    assert "not within 40 s: still there: 7" in failed(wait(Until("stopped", 20.0, late="kill"), "unit.stop"), left)


def test_a_box_that_is_back_in_time_is_asked_again() -> None:
    box = Answers(UnreachableError("a: no way there"), {"active": "active"})
    said: list[str] = []
    execution(said, a=box).step(wait())
    assert said == ["  a: out of reach, trying again"]


def test_a_box_that_is_not_back_in_time() -> None:
    told = failed(wait(), UnreachableError("a: no way there"))
    assert told == "lost in the middle of `wait until it is warm`: a: no way there; run the same command again"


def test_nothing_is_done_without_the_lease() -> None:
    run = execution([], a=Answers({}))
    run.lease.lost.set()
    with pytest.raises(BusyError, match="somebody else; nothing more was done from here"):
        run.step(wait())


@pytest.mark.parametrize(
    ("errors", "code", "kind"),
    [
        ([FloorError("one")], 1, FloorError),
        ([RefusedError("one"), FloorError("two")], 5, FloorError),
        ([RefusedError("one"), RefusedError("one")], 5, FloorError),
        ([BusyError("one"), None], 4, BusyError),
    ],
)
def test_the_failures_of_several_lanes_are_one(errors: list[FloorError | None], code: int, kind: type) -> None:
    boxes = {name: Answers(error or {}) for name, error in zip("ab", [*errors, None], strict=False)}
    lanes = tuple((Step(name, "unit.start", {}, "start"),) for name in boxes)
    with pytest.raises(kind) as error:
        execution([], **boxes).stage(Stage("both", lanes))
    assert error.value.exit_code == code
    assert str(error.value).splitlines()[0] == "one"


def test_a_step_that_fails_on_all_boxes_of_a_group_is_a_failed_step() -> None:
    """So a swap knows that the new build found no room, and goes back."""
    fits = Until("fits", 100.0)
    waits = [Step(box, "memory.wait", {"fraction": 0.7}, "wait until it fits", until=fits) for box in "ab"]
    none = {"fits": False, "needed": 50 << 30, "available": 3 << 30}
    with pytest.raises(StepError) as error:
        execution([], a=Answers(none), b=Answers(none)).stage(Stage("start", (tuple(beside(waits)),)))
    assert [line.partition(":")[0] for line in str(error.value).splitlines()] == ["a", "b"]
    assert swap._does_not_start(error.value, "flagship")


def test_a_defect_in_a_lane_is_not_taken_for_a_failure() -> None:
    lanes = tuple((Step(name, "unit.start", {}, "start"),) for name in "ab")
    with pytest.raises(ZeroDivisionError):
        execution([], a=Answers(ZeroDivisionError()), b=Answers({})).stage(Stage("both", lanes))


def test_a_plan_that_never_ends_says_so(deployed: Situation) -> None:
    again = Plan((Stage("again", ((Step("spark-a", "units.reload", {}, "reload"),),)),))
    change = Change("deploy", deployed.site(), None, lambda _: again, print, print)
    with pytest.raises(FloorError, match=r"again: done, and yet the boxes look as if it were not \(spark-a: reload\)"):
        change.run(*change.look())
    turns = [Plan((Stage(f"turn {n % 2}", again.stages[0].lanes),)) for n in range(20)]
    change = Change("deploy", deployed.site(), None, lambda _: turns.pop(), print, print)
    with pytest.raises(FloorError, match="done, and yet"):
        change.run(*change.look())
    assert len(turns) > 10


def test_one_that_slept_asks_again_before_it_gives_up(deployed: Situation) -> None:
    """Its call has had no answer for longer than it would wait: the box is there, and says who has it now."""
    box = deployed.box("spark-a")
    real, slept = box.call, []

    def call(name: str, *given: Any, **named: Any) -> Any:
        if name == "unit.wait" and not slept:
            slept.append(name)
            with asleep(deployed):
                deployed.world.sleep(120)
            raise UnreachableError("spark-a: no answer to `unit.wait` within 60 s")
        return real(name, *given, **named)

    box.call = call  # type: ignore[method-assign]
    with pytest.raises(BusyError, match="epoch 2 has lost this box: its lease ran out"):
        deployed.restart()
