"""Carries out a stage: each step is a call, repeated until its answer says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from floor.apply.transport import UnreachableError
from floor.errors import BoxError, BusyError, FloorError
from floor.operations.lease import Lease
from floor.operations.site import Site
from floor.plan.steps import Stage, Step, Until

CALL_SECONDS = 20.0  # how long one waiting call may keep its answer back
POLL_SECONDS = 0.5
LOST_SECONDS = 60.0  # how long a box may be out of reach in the middle of a step
CRASHES = 2  # an engine that died twice under our eyes will not get well by waiting


@dataclass
class Execution:
    """What carrying out needs besides the steps. `say` takes a line for the person, `progress` one that may vanish."""

    site: Site
    lease: Lease
    say: Callable[[str], None]
    progress: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def stage(self, stage: Stage) -> None:
        """Run the lanes of a stage side by side. Raise FloorError with every lane's failure."""
        self.say(stage.title)
        if len(stage.lanes) == 1:
            self._lane(stage.lanes[0])
            return
        with ThreadPoolExecutor(max_workers=min(16, len(stage.lanes))) as pool:
            results = [pool.submit(self._lane, lane) for lane in stage.lanes]
        errors = [error for result in results if (error := result.exception())]
        if errors:
            raise FloorError("\n".join(str(error) for error in errors))

    def _lane(self, lane: tuple[Step, ...]) -> None:
        told = ""
        for step in lane:
            if step.why:
                self.say(f"  {step.box}: {step.text}" + (f"   [{step.why}]" if step.why != told else ""))
                told = step.why
            self.step(step)

    def step(self, step: Step) -> None:
        """Carry out one step. Raise FloorError with where, what was found and what to do."""
        if step.why:
            self._event(step)
        if step.call == "secrets.share":
            self._share(step)
        elif step.until is None:
            self._call(step, step.params)
        else:
            self._wait(step, step.until)

    def _wait(self, step: Step, until: Until) -> None:
        started, reached, first = self.clock(), 0, None
        deadline, killed = until.deadline, False
        while True:
            left = deadline - (self.clock() - started)
            answer = self._call(step, {**step.params, "timeout": max(0.0, min(CALL_SECONDS, left))})
            reached = reached + 1 if answer.get(until.field) == until.value else 0
            if reached >= until.times:
                return
            first = answer.get("restarts", 0) if first is None else first
            if until.crashed and (answer.get("active") == "failed" or answer.get("restarts", 0) - first >= CRASHES):
                raise FloorError(_crashed(step, answer))
            waited = self.clock() - started
            if waited >= deadline:
                if until.late == "kill" and not killed:
                    deadline, killed = deadline + until.deadline, True
                    self._kill(step, answer)
                    continue
                if until.late == "go on":
                    self.say(f"  {step.box}: {step.text}: not within {until.deadline:.0f} s, going on")
                    return
                raise FloorError(_late(step, until, answer))
            self.progress(f"  {step.box}: {step.text} ({waited:.0f} s){_hint(answer)}")
            self.sleep(POLL_SECONDS)

    def _call(self, step: Step, params: Any) -> Any:
        """One call; a box that is out of reach for a moment is asked again: every call may be repeated."""
        started = self.clock()
        while True:
            if self.lease.lost.is_set():
                raise BusyError("another operation has taken over these boxes; nothing more was done here")
            try:
                return self.site.boxes[step.box].call(step.call, {"epoch": self.lease.epoch, **params}, timeout=60)
            except UnreachableError as error:
                if self.clock() - started > LOST_SECONDS:
                    raise BoxError(f"{step.box}: lost in the middle of: {step.text}; {error}") from error
                self.progress(f"  {step.box}: out of reach, trying again")
                self.sleep(2.0)

    def _share(self, step: Step) -> None:
        """Keys pass through this process's memory only: from the box that made them to the box that lacks them."""
        source = step.params["source"]
        keys = self._call(Step(source, "secrets.ensure", {}, step.text), {})
        if step.box != source:
            self._call(Step(step.box, "secrets.put", {}, step.text), keys)

    def _kill(self, step: Step, answer: Any) -> None:
        left = answer.get("left") or []
        self.say(f"  {step.box}: {step.text}: still there, ending it at once (pids {left})")
        self._call(Step(step.box, "unit.kill", step.params, "kill"), step.params)

    def _event(self, step: Step) -> None:
        data = {"call": step.call, "why": step.why, "verb": self.lease.record["verb"], "epoch": self.lease.epoch}
        note = Step(step.box, "events.append", {}, step.text)
        self._call(note, {"text": step.text, "data": data})


def _hint(answer: Any) -> str:
    log = answer.get("log") if isinstance(answer, dict) else None
    return f": {log}" if log else ""


def _crashed(step: Step, answer: Any) -> str:
    unit = step.params.get("unit")
    return (
        f"{step.box}: {unit} does not stay up ({answer.get('result') or answer.get('active')}){_hint(answer)}\n"
        f"  the rest stays as it was; see `floor logs`, mend floor.yaml and run the same command again"
    )


def _late(step: Step, until: Until, answer: Any) -> str:
    waited = f"not within {until.deadline:.0f} s"
    return f"{step.box}: {step.text}: {waited}{_hint(answer)}; see `floor logs` and `floor status`"
