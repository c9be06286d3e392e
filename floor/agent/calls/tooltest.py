"""The tool test of an engine of this box, run here: only boxes reach engines, and only they have the key."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from floor.agent.call import Call
from floor.box import paths, systemctl, task, tested
from floor.errors import FloorError, UsageError

TIERS = ("baseline", "gate", "quick")
DOWN = "endpoint"  # how a task's state calls an engine that does not answer


def run(call: Call) -> dict[str, Any]:
    """{epoch, unit, backend, model, url, key, tier, name, build, launch, against|null, concurrency, timeout} → {over,
    word, done, total, log, said}.

    Tests what runs in the unit now, once: a test of that process that is over is not made again, and one that was cut
    goes on. The trials are made by a unit of their own, so that nobody need wait for them. `said` is for the person:
    how the build does, and what of that shows little. `word` is DONE of a
    baseline, else the verdict, FAILED where there is none, or empty where the unit is not up: then nothing was tested.
    Raise FloorError where a baseline cannot be made.
    """
    job, epoch = _job(call), call.params.whole("epoch", 1)
    with call.work():
        unit = systemctl.show([job["unit"]], call.run)[job["unit"]]
        if unit.active != "active":
            return _down(job, unit.active)
        job["invocation"] = unit.invocation
        job["task"] = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()[:12]
        if word := _over(job, call):
            return _done(job, word, call)
        if failed := _begin(job, epoch, call):
            return failed
    return dict(call.until(lambda: _look(job, call)))


def _down(job: dict[str, Any], active: str) -> dict[str, Any]:
    if job["tier"] == "baseline":
        raise FloorError(f"{job['unit']} is {active}: there is nothing to compare with; see `floor logs`")
    return {"over": True, "word": "", "log": f"{job['unit']} is {active}"}


def _job(call: Call) -> dict[str, Any]:
    params = call.params
    texts = ("unit", "backend", "model", "url", "tier", "build", "launch", "name")
    job: dict[str, Any] = {name: params.text(name) for name in texts}
    if job["tier"] not in TIERS:
        raise UsageError(f"tooltest.run: parameter tier: must be one of {', '.join(TIERS)}, found {job['tier']!r}")
    job |= {"key": params.flag("key"), "against": params.maybe_text("against")}
    return {**job, "concurrency": params.whole("concurrency", 1), "kind": "tooltest"}


def _over(job: dict[str, Any], call: Call) -> str:
    """What came of the test where it is over, else empty."""
    if job["tier"] == "baseline":
        return "DONE" if tested.baseline(job["model"], job["name"], call.root).exists() else ""
    found = tested.last(call.root).get(job["unit"]) or {}
    return str(found["word"]) if tested.same(found, job) else ""


def _done(job: dict[str, Any], word: str, call: Call) -> dict[str, Any]:
    found = tested.last(call.root).get(job["unit"]) or {}
    if job["tier"] == "baseline" or "score" not in found:
        return {"over": True, "word": word}
    said = f"{word}: {found['score']} of 100, {found.get('baseline')} before"
    return {"over": True, "word": word, "said": "; ".join(filter(None, [said, found.get("note")]))}


def _begin(job: dict[str, Any], epoch: int, call: Call) -> dict[str, Any]:
    """Start the task, or join it. A failure in an earlier operation is tried again, one in this one is returned."""
    state, before = task.state(job["task"], call.root), task.job(job["task"], call.root) or {}
    if state and state["state"] in ("failed", "died") and before.get("epoch") == epoch:
        return _failed(job, state, call)
    paths.under(call.root, paths.TESTS).mkdir(parents=True, exist_ok=True)
    tested.tidy(call.wall(), call.root)
    what = f"tool test of {job['backend']}, {job['tier']}"
    task.start(job["task"], {**job, "epoch": epoch, "what": what}, None, call.root, call.run, call.sleep)
    return {}


def _look(job: dict[str, Any], call: Call) -> tuple[bool, dict[str, Any]]:
    if word := _over(job, call):
        return True, _done(job, word, call)
    state = task.state(job["task"], call.root) or {"state": "died"}
    if state["state"] in ("failed", "died"):
        return True, _failed(job, state, call)
    told = {name: state.get(name) for name in ("done", "total")}
    return False, {"over": False, "word": "", "log": state.get("what"), **told}


def _failed(job: dict[str, Any], state: dict[str, Any], call: Call) -> dict[str, Any]:
    """Keep that there is no verdict, and why. Raise FloorError where there is no baseline."""
    said = str(state.get("message") or f"its unit {task.unit(job['task'])} was ended before it was done")
    if job["tier"] == "baseline":
        raise FloorError(f"tool test of {job['backend']}, {job['tier']}: {said}")
    tested.failed(job, said, down=state.get("error") == DOWN, root=call.root)
    return {"over": True, "word": tested.FAILED}


def accept(call: Call) -> dict[str, Any]:
    """{epoch, unit, invocation, by} → {}: what the test left open may serve."""
    params = call.params
    with call.work():
        tested.accept(params.text("unit"), params.text("invocation"), params.text("by"), call.root)
    return {}


def page(call: Call) -> dict[str, Any]:
    """{unit} → {page}: what a team reads of the unit's last test, empty where there is none."""
    return {"page": tested.page(call.params.text("unit"), call.root)}


def read(call: Call) -> dict[str, Any]:
    """{model, name} → {text}: a baseline. Raise FloorError where it does not lie here."""
    params = call.params
    place = tested.baseline(params.text("model"), params.text("name"), call.root)
    try:
        return {"text": place.read_text()}
    except FileNotFoundError:
        raise FloorError(f"{place}: there is no such baseline; run the same command again") from None


def put(call: Call) -> dict[str, Any]:
    """{epoch, model, name, text} → {}: keeps a baseline that was made elsewhere. Raise UsageError for what is none."""
    from floor.tooltest.report import result

    params = call.params
    text, name = params.text("text"), params.text("name")
    try:
        result.of(json.loads(text), name)
    except ValueError as error:
        raise UsageError(f"baseline {name}: is no JSON: {error}") from None
    with call.work():
        tested.put(params.text("model"), name, text, call.root)
    return {}
