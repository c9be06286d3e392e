"""`floor health` and `floor verify`: each backend asked directly from a proxy box, and a chat through each proxy."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from floor.apply.transport import UnreachableError
from floor.config.hosts import netloc
from floor.config.model import ResolvedCopy
from floor.errors import BoxError
from floor.healthcheck.report import State
from floor.operations import pools
from floor.operations.site import Site
from floor.plan import holders
from floor.plan.seen import Seen, parse
from floor.plan.shared_address import holds

SETTLE_SECONDS = 5.0  # in which nginx takes in whom the pool has just let in

# the worst last: a copy that is known to be down weighs more than one that nobody could ask
GRAVITY = (State.OK, State.UNKNOWN, State.WARNING, State.CRITICAL)


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: `ok`, where, and in one sentence what came back."""

    ok: bool
    where: str
    what: str

    @property
    def line(self) -> str:
        return f"{'ok' if self.ok else 'FAILED'}  {self.where}: {self.what}"


def address(site: Site, copy: ResolvedCopy) -> str:
    """Where a copy itself answers."""
    host = site.loaded.config.boxes[copy.box].host
    return copy.url or f"http://{netloc(site.resolve(host) or host, copy.port)}"


def check_params(site: Site, copy: ResolvedCopy) -> dict[str, Any]:
    """Given a copy, return what the agent calls engine.check and engine.idle take."""
    config = site.loaded.config
    return {
        "backend": copy.backend,
        "url": address(site, copy),
        "model": copy.model,
        "dialect": copy.engine,
        "task": copy.task,
        "key": copy.key,
        "stall": config.health.stall,
        "min_speed": config.health.min_speed,
    }


def verdicts(site: Site) -> list[dict[str, Any]]:
    """Every backend's verdict as `floor.healthcheck.report.document` writes it, in the config's order.

    Each is asked by a proxy box, which is who has to reach it, by the next one where that does not answer. One that
    cannot be asked has state UNKNOWN, reason `unknown`, and why in `evidence`.
    """
    config, mode = site.loaded.config, site.mode()
    copies = [copy for model in config.models for copy in config.backends(model, mode)]
    found: list[dict[str, Any]] = []
    for answer in site.together([partial(_verdict, site, copy) for copy in copies]):
        if isinstance(answer, BaseException):
            raise answer
        found.append(answer)
    return found


def exit_code(found: Sequence[dict[str, Any]]) -> int:
    """Given verdicts, return the exit code of a monitoring plugin for all of them: the gravest; unknown for none."""
    states = [State[verdict["state"]] for verdict in found]
    return int(max(states, key=GRAVITY.index, default=State.UNKNOWN))


def _verdict(site: Site, copy: ResolvedCopy) -> dict[str, Any]:
    params = check_params(site, copy)
    why = ""
    for box in site.loaded.config.proxy.boxes:
        try:
            found: dict[str, Any] = site.boxes[box].call("engine.check", params)
        except UnreachableError as error:
            why = why or str(error)
        except BoxError as error:
            why = str(error)
            break
        else:
            return found
    return {
        "backend": copy.backend,
        "url": params["url"],
        "state": State.UNKNOWN.name,
        "level": None,
        "reason": "unknown",
        "evidence": why,
        "latency": None,
        "running": None,
        "waiting": None,
        "healthy": False,
        "restartable": False,
    }


def verify(site: Site, patience: float = SETTLE_SECONDS) -> list[Finding]:
    """Check a live deployment: the pool of every proxy box, and a chat through each proxy, streamed and not.

    A backend that nobody drained has `patience` seconds to come into the pools.
    """
    mode = site.mode()
    found = site.each(site.loaded.config.proxy.boxes, lambda box, _transport: _proxy(site, box, mode, patience))
    return [
        *(finding for box, answer in found.items() for finding in _told(box, answer)),
        *_through_address(site, mode),
    ]


def _through_address(site: Site, mode: str) -> list[Finding]:
    """A chat through the address that the proxies share, from one that does not hold it: that one is in the network."""
    config = site.loaded.config
    shared, fitting = config.proxy.address, [model for model in config.models if config.backends(model, mode)]
    if shared is None or not fitting:
        return []
    answers = site.each(config.proxy.boxes, lambda _box, transport: transport.call("observe", {}))
    facts = {box: answer["facts"] for box, answer in answers.items() if not isinstance(answer, BoxError)}
    holders = [box for box, told in facts.items() if holds(told, shared)]
    if len(holders) != 1:
        return [Finding(False, shared, f"is held by {' and '.join(holders)}" if holders else "nobody holds it")]
    asking = next((box for box in facts if box not in holders), holders[0])
    where = f"{shared} (held by {holders[0]})"
    return [
        dataclasses.replace(finding, where=where)
        for model in fitting
        for finding in [_ask(site, asking, model, host=shared)]
    ]


def _ask(site: Site, box: str, model: str, *, host: str) -> Finding:
    embeds = site.loaded.config.models[model].task == "embed"
    return _embedding(site, box, model, host=host) if embeds else _chat(site, box, model, stream=True, host=host)


def _told(box: str, answer: list[Finding] | BoxError) -> list[Finding]:
    """What was found on a box, or why it could not be asked; the error's own words begin with the box."""
    return [Finding(False, box, str(answer).removeprefix(f"{box}: "))] if isinstance(answer, BoxError) else answer


def _proxy(site: Site, box: str, mode: str, patience: float) -> list[Finding]:
    config = site.loaded.config
    seen = parse(box, site.boxes[box].call("observe", {}))
    findings = []
    for model in (model for model in config.models if config.backends(model, mode)):
        findings += [_member(site, seen, copy, patience) for copy in config.backends(model, mode)]
        if config.models[model].task == "embed":
            findings.append(_embedding(site, box, model))
        else:
            findings += [_chat(site, box, model, stream=stream) for stream in (False, True)]
    return findings


def _member(site: Site, seen: Seen, copy: ResolvedCopy, patience: float) -> Finding:
    if copy.backend in seen.serving(copy.model):
        entry = seen.pooled(copy.model)["backends"][copy.backend]
        return Finding(True, seen.box, f"{copy.backend} is in the pool: {_reason(entry)}")
    if people := holders.people(seen.drained(copy.backend)):
        return Finding(True, seen.box, f"{copy.backend} is not in the pool: drained by {', '.join(people)}")
    if any(holders.is_untested(drain.holder) for drain in seen.drained(copy.backend)):
        what = f"{copy.backend} is kept out of the pool: its build has not passed the tool test; see `floor status`"
        return Finding(False, seen.box, what)
    if any(holders.is_absence(drain.holder) for drain in seen.drained(copy.backend)):  # no waiting ends that
        what = f"{copy.backend} is kept out of the pool: {copy.box} missed a deployment; deploy again once it answers"
        return Finding(False, seen.box, what)
    started = site.clock()
    if why := pools.wait(site, seen.box, copy, member=True, seconds=patience):
        return Finding(False, seen.box, f"{copy.backend} is not in the pool: {why.removeprefix('not a member: ')}")
    return Finding(True, seen.box, f"{copy.backend} is in the pool, after {site.clock() - started:.1f} s")


def _reason(entry: dict[str, Any]) -> str:
    return str(entry.get("evidence") or entry.get("reason") or "the pool says nothing of it")


def _port(site: Site, model: str) -> dict[str, Any]:
    """How the proxy's port of a model is asked: its number, and the certificate that it shows where it speaks https."""
    config = site.loaded.config
    certificate = {"certificate": config.proxy.tls.certificate} if config.proxy.tls else {}
    return {"port": config.listen(model), **certificate}


def _embedding(site: Site, box: str, model: str, host: str | None = None) -> Finding:
    asked = {"model": model, **({"host": host} if host else {})}
    return _through(site, box, f"embedding with {model}", "verify.embed", asked, "no vector came")


def _chat(site: Site, box: str, model: str, *, stream: bool, host: str | None = None) -> Finding:
    what = f"{'streamed chat' if stream else 'chat'} with {model}"
    asked = {"model": model, "stream": stream, **({"host": host} if host else {})}
    return _through(site, box, what, "verify.chat", asked, "no text came", counted=stream)


def _through(
    site: Site, box: str, what: str, call: str, asked: dict[str, Any], nothing: str, *, counted: bool = False
) -> Finding:
    """Ask for something through the proxy of a box. `nothing` says that it was answered without content; `counted`:
    how many events came is told."""
    try:
        answer = site.boxes[box].call(call, {**asked, **_port(site, asked["model"])}, timeout=120)
    except BoxError as error:
        return Finding(False, box, f"{what}: {error}")
    status, events, wrong = answer["status"], answer["events"], answer["error"]
    told = [
        *([str(status)] if status is not None else []),
        *([f"{events} events"] if counted and status == 200 else []),
        *([str(wrong)] if wrong else []),
        *([nothing] if status == 200 and not events and not wrong else []),
        f"{answer['seconds']:.2f} s",
    ]
    return Finding(status == 200 and events > 0 and not wrong, box, f"{what}: {', '.join(told)}")
