"""`floor swap`: another build of a model, live only once it has passed the tool test."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from floor.box import paths
from floor.config import edit
from floor.config.load import Loaded, parse
from floor.errors import FloorError, RefusedError
from floor.operations import caller, config_file, own_file, swap_start
from floor.operations.change import Change
from floor.operations.deploy import carried_out, deployment, install_releases
from floor.operations.execute import LOST_POLL, StepError
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.operations.swap_back import going_back, swap_back, works
from floor.operations.swap_edit import Wish, edited, own
from floor.operations.swap_room import too_large
from floor.plan import gate
from floor.plan.abandoned import SWAP, SWAP_BACK, digest, kept, newest, unfinished
from floor.plan.aim import Aim
from floor.plan.difference import model_of
from floor.plan.outage import duration
from floor.plan.steps import Plan
from floor.plan.swap import GatedError, away, held, plan_swap
from floor.plan.tool_test import Swap
from floor.tooltest.suite import read

Say = Callable[[str], None]
Ask = Callable[[str], bool]


@dataclass
class Terms:
    """How a swap is carried out. `ask` is the person, who answers no where nobody is there; `page` is where the test's
    report goes when it says no, `baseline` what `floor tooltest baseline` wrote of the build that runs now. The rest is
    as for every changing verb."""

    say: Say
    progress: Say
    ask: Ask
    page: Path
    baseline: Path | None = None
    dry_run: bool = False
    force: bool = False


def swap(site: Site, model: str, wish: Wish, terms: Terms) -> Outcome:
    """Given the site, a model and what is to become another of it, write that into floor.yaml and bring every copy
    there, one after the other, each tested before it serves; or say what that would take. The same command goes on with
    a swap that was left.

    A build that does not pass goes back everywhere, and the file with it. Raise FloorError then, with what the test
    said; UsageError for a model that is not there, RefusedError where something else is not as the boxes have it or an
    operation was left, and as `Change.run` does.
    """
    fresh, given = edited(site.loaded, model, wish), swap_start.given(terms.baseline, model)
    aim = site.observe(patience=LOST_POLL)
    left = unfinished(aim.seen)
    resumes = left is not None and left.verb == SWAP
    if left is not None and left.verb == SWAP_BACK and not works(left):
        outcome = swap_back(site, terms.say, terms.progress, dry_run=terms.dry_run, force=terms.force)
        if terms.dry_run:
            return outcome
        if outcome.complete:
            raise RefusedError("a swap was on its way back; that is done now: run the command again to swap")
        raise FloorError("a swap is on its way back, which is not complete: run the command again")
    swap_start.refuse(aim, fresh.config, model)
    carried = tuple(install_releases(site, terms.say, dry_run=terms.dry_run))
    if terms.dry_run and carried:
        return Outcome(Plan(), carried=carried)
    deployed = kept(aim.seen, left) if left is not None and resumes else newest(aim.seen)
    old = _former(site.loaded, deployed, resumes=resumes)
    told = resumes and deployed is not None and swap_start.means(deployed, fresh.text)  # the boxes keep the new one
    before = old if deployed is None or told or swap_start.means(old, deployed) else deployed
    if difference := edit.diff(before, fresh.text, str(fresh.path)):
        terms.say(difference.rstrip("\n"))
    for line in own(fresh.config, model, wish):
        terms.say(f"note: {line}")
    new = dataclasses.replace(site, loaded=fresh)
    if not resumes and swap_start.means(before, fresh.text):
        swap_start.refuse_without_way_back(aim, model)
        return Outcome(Plan(), bool(carried), not aim.absent, carried)
    return _Swapping(site, new, model, old, before, terms, given).run(carried)


def _former(loaded: Loaded, deployed: str | None, *, resumes: bool) -> str:
    """What floor.yaml was on this machine: what a swap kept of it, where that was left or went back and was killed just
    before it put that back. What an older one left means something else than the boxes have."""
    was = config_file.before(loaded.path)
    if was is not None and (resumes or (deployed is not None and swap_start.means(was, deployed))):
        return was
    return loaded.text


@dataclass
class _Swapping:
    """`old` is what floor.yaml was on this machine, `before` the one to go back to: what the boxes have."""

    site: Site
    new: Site
    model: str
    old: str
    before: str
    terms: Terms
    given: str = ""
    begun: bool = False

    def run(self, carried: tuple[str, ...]) -> Outcome:
        accepted: set[tuple[str, str]] = set()
        while True:
            try:
                outcome = self._once(carried, accepted)
            except GatedError as error:
                if self.terms.dry_run:
                    raise RefusedError(f"{error}; `floor swap {self.model}` goes back") from error
                if error.word == gate.HOLD and self.terms.ask(_question(error)):
                    accepted.add((error.copy.unit, str(error.told["invocation"])))
                    continue
                self._report(error)
                raise self._back(error) from error
            except FloorError as error:
                if self.begun and _does_not_start(error, self.model):
                    raise self._back(error) from error
                raise
            if not self.terms.dry_run:
                config_file.keep(self.new.loaded.path)
            return outcome

    def _once(self, carried: tuple[str, ...], accepted: set[tuple[str, str]]) -> Outcome:
        terms, text = self.terms, self.new.loaded.text
        change = deployment(self.new, None, terms.say, terms.progress, force=terms.force, verb=SWAP)
        aim = change.observe(patience=LOST_POLL)
        about = Swap(self.model, read.digest(), swap_start.before(aim, self.model), accepted, caller.name(), self.given)
        # Else it is a swap that was left before it had written what it was to change, and has held nobody.
        if not swap_start.means(self.before, text) or held(aim, self.model):
            change.planner = lambda aim: plan_swap(aim, text, about)
        change.target = {"model": self.model, "builds": dict(about.before), "to": digest(text)}
        change.accepted = swap_start.alone(aim, self.model)
        change.begins = self._begin
        deploys = change.problems
        change.problems = lambda aim: deploys(aim) or too_large(self.new, aim, self.model)
        return carried_out(change, *self._planned(change), carried, dry_run=terms.dry_run)

    def _planned(self, change: Change) -> tuple[Aim, Plan]:
        aim, plan = change.look()
        copies = [copy for copy in aim.copies if copy.model in plan.outage]
        notes = [
            f"nobody answers for {copy.model} for about {duration(away(aim, copy))}: from the stop of what runs until "
            "the new build has passed its test"
            for copy in copies[:1]
        ]
        if self.given and plan and all(step.call != "tooltest.put" for stage in plan.stages for step in stage.steps):
            notes.append(f"{self.terms.baseline} is not taken: a box keeps a baseline of that build")
        plan = dataclasses.replace(plan, notes=(*notes, *plan.notes))
        return aim, plan

    def _begin(self) -> None:
        """The boxes are held: from here on the file says what is to be."""
        self.begun = True
        config_file.replace(self.new.loaded.path, self.old, self.new.loaded.text)

    def _report(self, error: GatedError) -> None:
        """Bring the test's page to the person. Where that cannot be, it lies on the box: the way back does not wait."""
        try:
            answer = self.site.boxes[error.copy.box].call("tooltest.page", {"unit": error.copy.unit})
            if answer["page"]:
                own_file.write(self.terms.page, answer["page"])
                self.terms.say(f"the report is {self.terms.page}")
        except FloorError as lost:
            self.terms.say(f"note: the report lies on {error.copy.box}, {paths.TESTS / error.copy.unit}.md: {lost}")

    def _back(self, error: FloorError) -> FloorError:
        """Bring the build before it back everywhere; return what the command ends with."""
        terms = self.terms
        found = str(error).splitlines()[0]
        terms.say(f"{found}: going back to the build before it")
        loaded = Loaded(parse(self.before, str(self.site.loaded.path)), self.before, self.site.loaded.path)
        target = {"model": self.model, "to": digest(self.new.loaded.text)}
        try:
            outcome = going_back(dataclasses.replace(self.site, loaded=loaded), target, terms.say, terms.progress)
        except FloorError as lost:
            return _ended(lost, f"{found}\n  the way back stopped, `floor swap --abort` goes on with it: {lost}")
        told = config_file.restore(self.new.loaded.path, self.new.loaded.text)
        if told or self.old == self.new.loaded.text:
            terms.say(told or f"{loaded.path} still asks for the build that went: take that out again")
        back = "the build before it is back on every copy"
        short = "the way back is not complete: `floor swap --abort` goes on with it"
        return _ended(error, f"{found}\n  {back if outcome.complete else short}")


def _ended(error: FloorError, words: str) -> FloorError:
    """What a swap that failed ends with: the words, and the exit code of what it failed at."""
    ended = FloorError(words)
    ended.exit_code = error.exit_code
    return ended


def _question(error: GatedError) -> str:
    reasons = "; ".join(str(one) for one in error.told.get("reasons") or ())
    return f"{error.copy.backend}: the test leaves it open ({reasons}). Let it in all the same?"


def _does_not_start(error: FloorError, model: str) -> bool:
    """Whether it is the new build that does not come up, or finds no room. A way to a box that is lost, or a pool that
    does not answer, says nothing of the build."""
    if not isinstance(error, StepError):
        return False
    unit = str(error.step.params.get("unit", ""))
    return error.step.call == "memory.wait" or (error.step.call == "unit.wait" and model_of(unit) == model)
