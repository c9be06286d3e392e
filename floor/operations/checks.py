"""`floor health` and `floor verify`: each backend asked directly by its own box, and the proxies through the front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from floor.config.hosts import netloc
from floor.config.model import ResolvedCopy
from floor.errors import BoxError
from floor.operations.site import Site


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: `ok`, where, and in one sentence what came back."""

    ok: bool
    where: str
    what: str


def check_params(site: Site, copy: ResolvedCopy) -> dict[str, Any]:
    """Given a copy, return what the agent calls engine.check and engine.idle take."""
    config = site.loaded.config
    url = (
        copy.url
        or f"http://{netloc(site.resolve(config.boxes[copy.box].host) or config.boxes[copy.box].host, copy.port)}"
    )
    return {
        "backend": copy.backend,
        "url": url,
        "model": copy.model,
        "dialect": copy.engine,
        "key": copy.key,
        "stall": config.health.stall,
        "min_speed": config.health.min_speed,
    }


def verdicts(site: Site) -> list[dict[str, Any]]:
    """Every backend's verdict as JSON: {backend, url, level, reason, evidence, latency, running, waiting, healthy}.

    Each is asked by a proxy box, which is who has to reach it; one that cannot be asked has reason `unknown`.
    """
    config = site.loaded.config
    found = []
    for copy in [copy for model in config.models for copy in config.copies(model)]:
        asker = next((box for box in config.proxy.boxes if box in site.boxes), copy.box)
        try:
            found.append(site.boxes[asker].call("engine.check", check_params(site, copy)))
        except BoxError as error:
            found.append({"backend": copy.backend, "reason": "unknown", "evidence": str(error), "healthy": False})
    return found


def verify(site: Site) -> list[Finding]:
    """Check a live deployment: the pool of every proxy box, and a chat through each proxy, streamed and not."""
    config = site.loaded.config
    findings = []
    for box in config.proxy.boxes:
        try:
            seen = site.boxes[box].call("observe", {})
        except BoxError as error:
            findings.append(Finding(False, box, str(error)))
            continue
        for model in config.models:
            findings += _pool(box, seen.get("pool") or {}, [copy.backend for copy in config.copies(model)], model)
            findings += [_chat(site, box, model, stream=stream) for stream in (False, True)]
    return findings


def _pool(box: str, pool: dict[str, Any], backends: list[str], model: str) -> list[Finding]:
    known = pool.get("pools", {}).get(model, {})
    findings = []
    for backend in backends:
        entry = known.get("backends", {}).get(backend, {})
        inside = backend in known.get("members", [])
        reason = entry.get("evidence") or entry.get("reason") or "the pool says nothing of it"
        findings.append(Finding(inside, box, f"{backend} is {'in' if inside else 'not in'} the pool: {reason}"))
    return findings


def _chat(site: Site, box: str, model: str, *, stream: bool) -> Finding:
    kind = "streamed chat" if stream else "chat"
    params = {"port": site.loaded.config.listen(model), "model": model, "stream": stream}
    try:
        answer = site.boxes[box].call("verify.chat", params, timeout=120)
    except BoxError as error:
        return Finding(False, box, f"{kind} with {model}: {error}")
    ok = answer["status"] == 200 and (not stream or answer["events"] > 0)
    told = f"{answer['events']} events, " if stream else ""
    return Finding(ok, box, f"{kind} with {model}: {answer['status']}, {told}{answer['seconds']:.2f} s")
