"""Carries out a stage: each step is a call, repeated until its answer says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from floor.apply.transport import FailedError, UnreachableError
from floor.errors import BoxError, BusyError, FloorError
from floor.operations.lease import Lease
from floor.operations.site import Site
from floor.plan.steps import Stage, Step, Until, abreast
from floor.sizes import gib

CALL_SECONDS = 20.0  # how long one waiting call may keep its answer back
POLL_SECONDS = 0.5
LOST_SECONDS = 60.0  # how long a box may be out of reach in the middle of a step
LOST_POLL = 2.0
CRASHES = 2  # an engine that died twice under our eyes will not get well by waiting
SKIPPED_SECONDS = 30.0  # a unit that stays down that long after it was told to start will not start


class StepError(FloorError):
    """A step did not come to what it waits for."""

    def __init__(self, step: Step, message: str) -> None:
        super().__init__(message)
        self.step = step


@dataclass
class Execution:
    """What carrying out needs besides the steps. `say` takes a line for the person, `progress` one that may vanish."""

    site: Site
    lease: Lease
    say: Callable[[str], None]
    progress: Callable[[str], None]

    def stage(self, stage: Stage) -> None:
        """Run the lanes of a stage side by side. Raise FloorError with every lane's failure."""
        self.say(stage.title)
        self._all([partial(self._lane, lane) for lane in stage.lanes])

    def _all(self, work: list[Callable[[], None]]) -> None:
        """Do it side by side. Raise FloorError with every failure."""
        if len(work) == 1:
            work[0]()
            return
        results = self.site.together(work)
        errors = [error for error in results if isinstance(error, BaseException)]
        for error in errors:
            if not isinstance(error, FloorError):
                raise error
        if failed := [error for error in errors if isinstance(error, FloorError)]:
            raise _together(failed)

    def _lane(self, lane: tuple[Step, ...]) -> None:
        told = ""
        for steps in abreast(lane):
            for step in steps:
                if step.why:
                    self.say(f"  {step.box}: {step.text}" + (f"   [{step.why}]" if step.why != told else ""))
                    told = step.why
            self._all([partial(self.step, step) for step in steps])

    def step(self, step: Step) -> None:
        """Carry out one step. Raise FloorError with where, what was found and what to do."""
        if step.away:
            self.lease.rebooted.add(step.box)
        if step.call == "secrets.share":
            self._share(step)
        elif step.call == "clients.share":
            self._share_clients(step)
        elif step.call == "tooltest.share":
            self._share_baseline(step)
        elif step.until is None:
            self._call(step, {**step.params, **self._event(step)})
        else:
            self._wait(step, step.until)

    def _wait(self, step: Step, until: Until) -> None:
        clock, started = self.site.clock, self.site.clock()
        first, up_at = None, started
        deadline, killed, event = until.deadline, False, self._event(step)
        while True:
            left = deadline - (clock() - started)
            answer = self._call(step, {**step.params, **event, "timeout": max(0.0, min(CALL_SECONDS, left))})
            event = {}
            if answer.get(until.field) == until.value:
                if said := answer.get("said"):
                    self.say(f"  {step.box}: {said}")
                return
            first = answer.get("restarts", 0) if first is None else first
            up_at = up_at if answer.get("active") == "inactive" else clock()
            if until.crashed and (_dies(answer, first) or clock() - up_at >= SKIPPED_SECONDS):
                raise StepError(step, _crashed(step, answer))
            waited = clock() - started
            if waited >= deadline:
                if until.late == "kill" and not killed:
                    deadline, killed = deadline + until.deadline, True
                    self._kill(step, answer)
                    continue
                if until.late == "go on":
                    self.say(f"  {step.box}: {step.text}: not within {until.deadline:.0f} s{_hint(answer)}, going on")
                    return
                raise StepError(step, _late(step, until.advice, deadline, answer))
            self.progress(f"  {step.box}: {step.text} ({waited:.0f} s){_hint(answer)}")
            self.site.sleep(POLL_SECONDS)

    def _call(self, step: Step, params: Any) -> Any:
        """One call; a box that is out of reach for a moment is asked again: every call may be repeated.

        One that goes down or comes up may refuse a connection in any words, and fail for a moment at what it is asked.
        It is asked once more at least: this process may have slept since it asked, and then the box tells who has it
        now.
        """
        fails: float | None = None
        since, patience = self.site.clock() if step.away else None, step.away or LOST_SECONDS
        while True:
            if self.lease.lost.is_set():
                raise BusyError(f"{self.lease.reason}; nothing more was done from here")
            try:
                return self.site.boxes[step.box].call(step.call, {"epoch": self.lease.epoch, **params}, timeout=60)
            except BoxError as error:
                if not (step.away or isinstance(error, UnreachableError)):
                    raise
                if isinstance(error, FailedError):
                    fails = self.site.clock() if fails is None else fails
                    if self.site.clock() - fails > LOST_SECONDS:
                        raise
                    self.progress(f"  {error}, trying again")
                    self.site.sleep(LOST_POLL)
                    continue
                fails = None
                since = self.site.clock() if since is None else since
                if self.site.clock() - since > patience:
                    what = f"lost in the middle of `{step.text}`"
                    if step.away:
                        what = f"{step.box} did not come back within {patience / 60:.0f} min, the rest stays as it was"
                    raise BoxError(f"{what}: {error}; run the same command again") from error
                self.progress(f"  {step.box}: out of reach, trying again")
                self.site.sleep(LOST_POLL)

    def _share(self, step: Step) -> None:
        """Keys pass through this process's memory only: from the box that made them to the box that lacks them."""
        source, event = step.params["source"], self._event(step)
        keys = self._call(Step(source, "secrets.ensure", {}, step.text), event if step.box == source else {})
        if step.box != source:
            self._call(Step(step.box, "secrets.put", {}, step.text), {**keys, **event})

    def _share_clients(self, step: Step) -> None:
        source = step.params["source"]
        found = self._call(Step(source, "clients.read", {}, step.text), {})
        missing = bool(step.params.get("missing"))
        self._call(Step(step.box, "clients.put", {}, step.text), {**found, "missing": missing, **self._event(step)})

    def _share_baseline(self, step: Step) -> None:
        named = {name: step.params[name] for name in ("model", "name")}
        found = self._call(Step(step.params["source"], "tooltest.read", {}, step.text), named)
        self._call(Step(step.box, "tooltest.put", {}, step.text), {**named, **found, **self._event(step)})

    def _kill(self, step: Step, answer: Any) -> None:
        left = answer.get("left") or []
        self.say(f"  {step.box}: {step.text}: still there, ending it at once (pids {left})")
        self._call(Step(step.box, step.call.replace(".stop", ".kill"), {}, step.text), step.params)

    def _event(self, step: Step) -> dict[str, Any]:
        """What the call of a step has its box write down before it does anything; nothing for one without a reason."""
        if not step.why:
            return {}
        data = {"call": step.call, "why": step.why, "verb": self.lease.record["verb"], "epoch": self.lease.epoch}
        return {"event": {"text": step.text, "data": data}}


def _together(errors: list[FloorError]) -> FloorError:
    """The failures of several lanes as one, a step's where all are; it ends as the gravest of them does."""
    if len(errors) == 1:
        return errors[0]
    message, steps = "\n".join(str(error) for error in errors), [one for one in errors if isinstance(one, StepError)]
    every = StepError(steps[0].step, message) if len(steps) == len(errors) else FloorError(message)
    every.exit_code = max(error.exit_code for error in errors)
    return every


def _dies(answer: Any, first: int) -> bool:
    return bool(answer.get("active") == "failed" or answer.get("restarts", 0) - first >= CRASHES)


def _hint(answer: Any) -> str:
    """What the box itself says of why it is not there yet."""
    if answer.get("needed") and answer.get("available") is not None:
        return f": it needs {gib(answer['needed'])}, {gib(answer['available'])} are free"
    if answer.get("left"):
        return f": still there: {', '.join(str(one) for one in answer['left'])}"
    if answer.get("running") is not None:
        return f": {answer['running']} running, {answer.get('waiting') or 0} waiting"
    said = answer.get("log") or answer.get("reason")
    return f": {said}" if said else ""


def _crashed(step: Step, answer: Any) -> str:
    unit = step.params.get("unit")
    result = answer.get("result")
    state = answer.get("active") if result in (None, "", "success") else result
    return (
        f"{step.box}: {unit} does not stay up ({state}){_hint(answer)}\n"
        f"  the rest stays as it was; see `floor logs`, mend floor.yaml and run the same command again"
    )


def _late(step: Step, advice: str, deadline: float, answer: Any) -> str:
    what = f"not within {deadline:.0f} s{_hint(answer)}"
    do = advice or "see `floor logs` and `floor status`"
    return f"{step.box}: {step.text}: {what}; {do}, then run the same command again"
