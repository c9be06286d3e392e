"""The rules: from what is remembered of a backend to one level, one reason and one sentence of evidence. Pure."""

from __future__ import annotations

from .history import History, Proof
from .sample import Answer, Fault, Generation, Sample
from .target import Target
from .verdict import Level, Reason

Finding = tuple[Level, Reason, str]

_BY_FAULT = {
    Fault.REFUSED: (Level.DOWN, Reason.REFUSED),
    Fault.DROPPED: (Level.DOWN, Reason.REFUSED),
    Fault.UNREACHABLE: (Level.DOWN, Reason.UNREACHABLE),
    Fault.TIMED_OUT: (Level.ALIVE, Reason.TIMED_OUT),
    Fault.NOT_HTTP: (Level.DOWN, Reason.NOT_AN_ENGINE),
}


def find(target: Target, history: History, at: float) -> Finding:
    """Given what is remembered, the last look and generation included, return what it means at time `at`.

    Asked in turn: is anything there, is it the engine and ready, does it work?
    """
    sample = history.sample
    if sample is None:
        return _working(target, history, at)
    if not any(answer.whole for answer in (sample.health, sample.models, sample.metrics)):
        return _nothing(target, history, sample, at)
    return _unready(target, history, sample) or _working(target, history, at)


def _nothing(target: Target, history: History, sample: Sample, at: float) -> Finding:
    """No request was answered."""
    answers = (sample.health, sample.models, sample.metrics)
    late = next((answer for answer in answers if answer.fault is Fault.TIMED_OUT), None)
    if late is None:
        level, reason = _BY_FAULT[sample.health.fault or Fault.REFUSED]
        return level, reason, str(sample.health)
    silent = at - (sample.began if history.silent_since is None else history.silent_since)
    if silent > target.stall:
        text = f"accepts connections and has answered nothing for {silent:.0f} s (limit {target.stall:g} s); {late}"
        return Level.ALIVE, Reason.HUNG, text
    return Level.ALIVE, Reason.TIMED_OUT, str(late)


def _unready(target: Target, history: History, sample: Sample) -> Finding | None:
    """Something answered: return what is wrong with it, None if it is the engine and says that it is ready."""
    health, models = sample.health, sample.models
    for answer in (health, models):
        if answer.status in (401, 403) and answer.whole:
            return Level.ALIVE, Reason.AUTH_REQUIRED, _auth(target, answer)
    error = next((a for a in (health, models) if a.whole and (a.status or 0) >= 500), None)
    if error is not None:
        return _server_error(target, history, sample, error)
    if not health.whole or not models.whole:
        missing = models if health.whole else health
        return _at_least_alive(history), Reason.SLOW, f"{missing}, while other requests were answered"
    if sample.metrics.fault is not None and history.load is not None:
        return _at_least_alive(history), Reason.SLOW, f"{sample.metrics}, while other requests were answered"
    if models.status == 429:
        return _at_least_alive(history), Reason.SLOW, str(models)
    if sample.served is None:
        what = str(models) if models.status != 200 else f"{models}, but not with a list of models"
        return Level.DOWN, Reason.NOT_AN_ENGINE, what
    if target.model not in sample.served:
        names = ", ".join(sample.served) or "no model"
        return Level.ALIVE, Reason.WRONG_MODEL, f"{models.asked} lists {names}, not {target.model}"
    return None


def _auth(target: Target, answer: Answer) -> str:
    """Say what to do about a 401 or a 403."""
    if answer.status == 403:
        return f"{answer}: it refuses this client or this key; check the engine key and its allowed hosts"
    state = "auth required: set the engine key" if target.key is None else "auth required: it does not accept this key"
    return f"{answer}; {state}"


def _server_error(target: Target, history: History, sample: Sample, error: Answer) -> Finding:
    """An answer of 500 or more: loading, if it never was ready in this life; broken otherwise."""
    if sample.loading or (error.status == 503 and not history.ready):
        listed = sample.served is not None and target.model in sample.served
        note = f", though {sample.models.asked} lists {target.model} already" if listed else ""
        return Level.ALIVE, Reason.LOADING, f"{error}{note}"
    if history.progress_at == sample.at:
        return Level.GENERATES, Reason.SERVER_ERROR, f"{error}, while its counts still move"
    return Level.ALIVE, Reason.SERVER_ERROR, str(error)


def _at_least_alive(history: History) -> Level:
    """The level of a backend of which not everything could be seen this time: what it had shown before."""
    if history.proof is not None:
        return Level.GENERATES
    return Level.READY if history.ready else Level.ALIVE


def _working(target: Target, history: History, at: float) -> Finding:
    """It is the engine and says that it is ready: does it generate?"""
    sample = history.sample
    load = None if sample is None else sample.load
    in_flight = None if load is None else load.in_flight
    # Up to the last counts: of the time since nothing is known.
    quiet = 0.0 if history.quiet_since is None else max(0.0, history.load_at - history.quiet_since)
    held = "" if load is None or not in_flight else f"running {load.running:.0f}, waiting {load.waiting:.0f}"
    if quiet > target.stall:
        text = f"{held or 'it holds requests'}, and nothing has moved for {quiet:.0f} s (limit {target.stall:g} s)"
        return Level.READY, Reason.HUNG, text
    failed = history.failed
    cold = history.proof is None and load is not None and load.lacks(target.model)
    if cold and (failed is None or failed.answer.fault is Fault.TIMED_OUT):
        text = f"lists {target.model}, but has not got it in memory: the next request waits for its load"
        return Level.READY, Reason.COLD, text
    # One request may be the failed probe's own ghost; more are others', and then it waited in their queue.
    if failed is not None and not (failed.answer.fault is Fault.TIMED_OUT and (in_flight or 0) > 1):
        return _failed(target, history, failed, at, known=in_flight is not None)
    if history.proof is None:
        if in_flight:
            return Level.READY, Reason.PREFILLING, f"{held}: busy, but no token seen yet"
        does = "embed" if target.embeds else "generate"
        return Level.READY, Reason.UNPROVEN, f"lists {target.model}, but was not seen to {does} yet"
    return _generating(target, history, history.proof, held if quiet > target.probe_timeout else "", quiet, at)


def _generating(target: Target, history: History, proof: Proof, stuck: str, quiet: float, at: float) -> Finding:
    """It generates: how well? `stuck` is what it holds while nothing moves."""
    slow = _too_slow(target, history.measured)
    if slow is not None:
        return Level.GENERATES, Reason.DEGRADED, slow
    if stuck:
        text = f"{stuck}: busy, no progress for {quiet:.0f} s (limit {target.stall:g} s)"
        return Level.GENERATES, Reason.PREFILLING, text
    health = None if history.sample is None else history.sample.health
    if health is not None and health.seconds > target.probe_timeout / 2:
        text = f"{health.asked} took {health.seconds:.2f} s of the {target.probe_timeout:g} s it may take"
        return Level.GENERATES, Reason.SLOW, text
    age = at - proof.at
    load, does = history.load, "embeds" if target.embeds else "generates"
    where = "; none of it is in a card's memory" if load is not None and load.on_card == 0 else ""
    return Level.GENERATES, Reason.OK, f"{does}, {proof.words}" + (f", {age:.0f} s ago" if age >= 1 else "") + where


def _too_slow(target: Target, measured: Generation | None) -> str | None:
    """Say by how much a measured speed misses the minimum; None if it does not."""
    if target.min_speed is None or measured is None:
        return None
    speed = measured.speed if measured.speed is not None else measured.speed_below
    if speed is None or (measured.speed is not None and speed >= target.min_speed):
        return None
    sign = "" if measured.speed is not None else "below "
    return f"generates {sign}{speed:.1f} tokens/s, the minimum is {target.min_speed:g} (on the CPU instead of the GPU?)"


def _failed(target: Target, history: History, failed: Generation, at: float, *, known: bool) -> Finding:
    """The last generation brought no token; `known` tells whether the engine says how busy it is."""
    answer = failed.answer
    if answer.fault is Fault.TIMED_OUT:
        text = f"{answer}, not one token"
        waited = at - (failed.began if history.failing_since is None else history.failing_since)
        if not known:
            return Level.READY, Reason.SLOW, f"{text}; how busy it is it does not say, so this may have been its queue"
        if waited > target.stall:
            return Level.READY, Reason.HUNG, f"idle, yet no token for {waited:.0f} s (limit {target.stall:g} s); {text}"
        return Level.READY, Reason.TIMED_OUT, f"idle, yet {text}"
    if answer.fault is Fault.DROPPED:
        return Level.READY, Reason.SERVER_ERROR, str(answer)
    if answer.fault is not None:
        level, reason = _BY_FAULT[answer.fault]
        return level, reason, str(answer)
    if answer.status in (401, 403):
        return Level.READY, Reason.AUTH_REQUIRED, _auth(target, answer)
    if answer.status == 404:
        return Level.READY, Reason.WRONG_MODEL, str(answer)
    if answer.status == 200 and failed.tokens is None:
        what = "an embedding" if target.embeds else "a count of tokens"
        return Level.READY, Reason.NOT_AN_ENGINE, f"{answer}, but without {what}"
    if answer.status == 200:
        return Level.READY, Reason.SERVER_ERROR, f"{answer}, with 0 {'embeddings' if target.embeds else 'tokens'}"
    reason = Reason.SERVER_ERROR if (answer.status or 0) >= 500 else Reason.NOT_AN_ENGINE
    return Level.READY, reason, str(answer)
