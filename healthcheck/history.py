"""What is remembered of a backend between looks: its life, its work, its proofs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .load import Load
from .sample import Fault, Generation, Sample
from .target import Target
from .verdict import Verdict

# Faults of the way there: an answer since then says that it is open again. A dropped or late one may be the engine's.
_PASSING = frozenset({Fault.REFUSED, Fault.UNREACHABLE, Fault.NOT_HTTP})


@dataclass(frozen=True)
class Proof:
    """When tokens were last seen to come out, and how that was seen."""

    at: float
    words: str


@dataclass(frozen=True)
class History:
    """What is known of one backend in this life of its process. Times are the caller's monotonic clock.

    A new life (the process started again, or was gone) begins from nothing: a proof has to be earned again.
    """

    sample: Sample | None = None
    """The last look."""
    load: Load | None = None
    """The last counts, taken at `load_at`."""
    load_at: float = 0.0
    ready: bool = False
    """Healthy and listing the model at some time: from then on a 503 is no loading."""
    proof: Proof | None = None
    progress_at: float | None = None
    """When its counters were last seen to grow: tokens, steps, requests finished."""
    quiet_since: float | None = None
    """Since when it holds requests and nothing has moved (None: idle, moving or unknown)."""
    silent_since: float | None = None
    """Since when it accepts connections and answers nothing."""
    asked_at: float | None = None
    """When the last generation asked of it ended."""
    failed: Generation | None = None
    """The last generation, if it brought no token and nothing since has shown that one can."""
    failing_since: float | None = None
    measured: Generation | None = None
    """The last generation that told a speed, or a bound of it."""
    unmeasured: bool = False
    """A minimum speed is asked for and none was measured yet."""
    failures: int = 0
    """Consecutive verdicts that found it unfit for requests, over all lives."""
    verdict: Verdict | None = None
    """The last verdict."""


def after_look(history: History, target: Target, sample: Sample) -> History:
    """Given a new look, return the history with it."""
    answers = (sample.health, sample.models, sample.metrics)
    if any(answer.whole for answer in answers):
        return _after_answer(history, target, sample)
    faults = {answer.fault for answer in answers}
    if Fault.TIMED_OUT in faults:
        since = sample.began if history.silent_since is None else history.silent_since
        return replace(history, sample=sample, silent_since=since)
    # Gone, or out of sight: even if it is the same process when it is back, it has to show again that it works.
    return History(sample=sample, failures=history.failures, verdict=history.verdict)


def after_generation(history: History, generation: Generation) -> History:
    """Given the outcome of a generation, return the history with it.

    A failure counts against a backend only if nothing moved meanwhile and no other request was there: a full engine is
    never judged by a probe in its queue.
    """
    history = replace(history, asked_at=generation.at)
    if generation.speed is not None or generation.speed_below is not None:
        history = replace(history, measured=generation)
    if generation.proven:
        noun = "embedding" if generation.target.embeds else "token"
        words = f"{_count(generation.tokens or 0, noun)} in {generation.answer.seconds:.2f} s"
        return replace(
            history,
            proof=Proof(generation.at, words),
            progress_at=generation.at,
            quiet_since=None if history.quiet_since is None else generation.at,
            failed=None,
            failing_since=None,
        )
    if generation.answer.status == 429 or (
        generation.answer.fault is Fault.TIMED_OUT and _overtaken(history, generation)
    ):
        return history
    since = generation.began if history.failing_since is None else history.failing_since
    return replace(history, failed=generation, failing_since=since, proof=None)


def _overtaken(history: History, generation: Generation) -> bool:
    """Whether other work moved, or was there, while `generation` waited."""
    if history.progress_at is not None and history.progress_at > generation.began:
        return True
    sample = history.sample
    return sample is not None and sample.at > generation.began and (sample.in_flight or 0) > 1


def _after_answer(history: History, target: Target, sample: Sample) -> History:
    """Return the history with a look that brought at least one answer."""
    if _restarted(history.load, sample.load):
        history = History(failures=history.failures, verdict=history.verdict)
    history = _after_load(history, target, sample)
    if _says_ready(target, sample):
        history = replace(history, ready=True)
    if history.progress_at != sample.at and any(
        answer.whole and (answer.status or 0) >= 500 for answer in (sample.health, sample.models)
    ):
        history = replace(history, proof=None)
    failed = history.failed
    if failed is not None and failed.answer.fault in _PASSING and sample.began >= failed.at:
        history = replace(history, failed=None, failing_since=None)  # it is there again: to be asked again
    return replace(history, sample=sample, silent_since=None)


def _says_ready(target: Target, sample: Sample) -> bool:
    """Whether the engine itself says that it is healthy and serves the model."""
    healthy = sample.health.whole and (sample.health.status or 0) < 500
    return healthy and sample.served is not None and target.model in sample.served


def _after_load(history: History, target: Target, sample: Sample) -> History:
    """Return the history with what the counts of `sample` show to have moved since the last ones."""
    load = sample.load
    if load is None:
        return history
    before, since = history.load, history.load_at
    # Only between two looks in a row: over a gap the tokens may be from its beginning, before the engine died.
    in_a_row = history.sample is not None and history.sample.at == since
    history = replace(history, load=load, load_at=sample.at)
    worked = before is not None and _worked(before, load)
    moved = worked or (before is not None and _fewer(before, load))
    made = _made(target, before, load) if before is not None and in_a_row else 0.0
    answered = _grown(before.finished, load.finished) if before is not None and in_a_row else 0.0
    if worked:
        history = replace(history, progress_at=sample.at)
        if history.failed is not None and history.failed.answer.fault is Fault.TIMED_OUT:
            history = replace(history, failed=None, failing_since=None)
    if made or answered:
        noun = "token read" if target.embeds else "token"
        what = _count(int(made), noun) if made else _count(int(answered), "request") + " answered"
        words = f"{what} of its own work within {sample.at - since:.1f} s"
        history = replace(history, proof=Proof(sample.at, words), failed=None, failing_since=None)
    if load.lacks(target.model):
        history = replace(history, proof=None)  # what it has proven was with the model in memory
    if not load.in_flight:
        return replace(history, quiet_since=None)
    if moved or history.quiet_since is None:
        return replace(history, quiet_since=sample.at)
    return history


def _restarted(before: Load | None, now: Load | None) -> bool:
    """Whether the counts belong to another process than the ones before: another start, or counters gone backwards."""
    if before is None or now is None:
        return False
    # A printed float may differ in its last digits; two starts never lie within a hundredth of a second.
    if before.started is not None and now.started is not None and abs(before.started - now.started) > 0.01:
        return True
    pairs = (
        (before.generated, now.generated),
        (before.prompted, now.prompted),
        (before.steps, now.steps),
        (before.finished, now.finished),
    )
    return any(b is not None and n is not None and n < b for b, n in pairs)


def _worked(before: Load, now: Load) -> bool:
    """Whether a counter grew between two looks: a working scheduler lies between them."""
    grown = (
        _grown(before.generated, now.generated)
        + _grown(before.prompted, now.prompted)
        + _grown(before.steps, now.steps)
        + _grown(before.finished, now.finished)
    )
    return grown > 0


def _made(target: Target, before: Load, now: Load) -> float:
    """How many tokens show that its work has come to something: those it made, where it embeds those it read."""
    return _grown(before.prompted, now.prompted) if target.embeds else _grown(before.generated, now.generated)


def _fewer(before: Load, now: Load) -> bool:
    """Whether requests left, or the cache changed: it moves. New arrivals alone show nothing.

    This says nothing of a failed probe, which leaves as well when it is given up.
    """
    fell = before.in_flight is not None and now.in_flight is not None and now.in_flight < before.in_flight
    return fell or (before.usage is not None and now.usage is not None and now.usage != before.usage)


def _grown(before: float | None, now: float | None) -> float:
    """By how much a counter grew; 0 if it did not, or is not known on both sides."""
    return max(0.0, now - before) if before is not None and now is not None else 0.0


def _count(number: int, noun: str) -> str:
    first, _, rest = noun.partition(" ")
    plural = f"{first}s {rest}".rstrip()
    return f"{number} {noun}" if number == 1 else f"{number} {plural}"
