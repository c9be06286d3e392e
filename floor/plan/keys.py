"""The keys that boxes share: one for the engines, one for the status ports, and those of clients on the proxy boxes."""

from __future__ import annotations

from floor.box.clients import OWN
from floor.box.secrets import KINDS
from floor.plan.aim import Aim
from floor.plan.seen import Seen
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, Until, stage

SETTLE_SECONDS = 60.0  # a pool looks twice a second, and reloads nginx once


def plan_keys(aim: Aim, serving: Serving) -> list[Stage]:
    """Given the aim, return the stages that give every box the same keys; none where they have them.

    Those of the first proxy box that has keys, else made there. Engines take only the key that they were started with,
    so those on the boxes that get another are out of the pools until their turn to restart has come. The stage says so
    where they are all that serves. While a key is being replaced both are known everywhere, and nobody is out.
    """
    source = aim.keyed
    if source is None:
        return []
    other, less = "the proxies and the engines must know the same keys", "a file that is made from them is missing"
    lacking = {box: less for box, seen in aim.seen.items() if seen.keys.get("complete") is False}
    lacking |= dict.fromkeys(aim.rekeyed, other)
    steps = [
        Step(box, "secrets.share", {"source": source.box}, f"keys of {source.box} on {box}", lacking[box])
        for box in aim.seen
        if box in lacking
    ]
    anew = {box for box in aim.rekeyed if _another(source, aim.seen[box])}
    outage = []
    for model in aim.config.models:
        out = {copy.backend for copy in aim.copies if copy.model == model and copy.box in anew}
        if serving.members(model) and serving.members(model) <= out:
            outage.append(model)
        serving.leaves(model, out)
    return [*stage("share the keys", steps, outage=tuple(outage)), *_clients(aim)]


def plan_promotion(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that ends the old keys: every engine that runs has the new one by then.

    Boxes that do not answer are waited for: what they hold is not known.
    """
    if not aim.rotating or aim.absent:
        return []
    why = f"every process knows the new {' and '.join(sorted(aim.rotating))} key"
    steps = [[Step(box, "secrets.promote", {}, f"end the old key on {box}", why)] for box in aim.seen]
    return stage("end the old keys", *steps)


def plan_new_key(aim: Aim, what: str, name: str, before: object, seconds: int | None = None) -> list[Stage]:
    """Given the aim, `rotate` or `retire`, whose key, and what `present_key` said before it began, return the stage
    that changes it on the box that all others get it from; none where that was done. Every deployment does the rest.

    A client's old key ends after `seconds`, where that is given.
    """
    source = aim.keyed if name in KINDS else client_source(aim)
    if source is None or present_key(aim, name) != before or name in aim.rotating:
        return []
    if name in KINDS:
        step = Step(source.box, "secrets.begin", {"kind": name}, f"make a new {name} key", "asked for")
    else:
        text = f"make a new key for {name}" if what == "rotate" else f"end the old key of {name}"
        lasting = {"seconds": seconds} if seconds is not None and what == "rotate" else {}
        step = Step(source.box, f"clients.{what}", {"name": name, **lasting}, text, "asked for")
        if what == "retire" and len(source.clients.get(name, ())) < 2:
            return []
        if what == "rotate" and len(source.clients.get(name, ())) > 1:
            return []
    return stage(step.text, [step])


def present_key(aim: Aim, name: str) -> list[str]:
    """Given the aim and whose key, return the digests of those that are valid now, without any that is to follow."""
    if name in KINDS:
        found = aim.keyed.keys.get(name) if aim.keyed else None
        return [str(found)] if found else []
    source = client_source(aim)
    return list(source.clients.get(name, ())) if source else []


def plan_settled(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that waits until no proxy goes the way of a key that followed: it is the present
    one, and nginx is about to lose that way."""
    if "engine" in aim.rotating:
        return []
    until = Until("reached", SETTLE_SECONDS)
    text = "wait until the pool knows the new key for the present one"
    going = [seen.box for seen in aim.proxies if seen.box in aim.facts and aim.facts[seen.box].rotating]
    return stage("settle", *([Step(box, "pool.direct", {}, f"{text} on {box}", until=until)] for box in going))


def plan_forgotten_clients(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that takes client keys away where nobody asks for them any more. Comes after
    nginx has been told so."""
    proxies = set(aim.config.proxy.boxes) if aim.config.proxy.clients else set()
    boxes = [box for box, seen in aim.seen.items() if seen.clients and box not in proxies]
    why = "nobody asks for them there any more"
    params: dict[str, list[str]] = {"names": []}
    steps = [[Step(box, "clients.ensure", params, f"remove the client keys on {box}", why)] for box in boxes]
    return stage("forget client keys", *steps)


def key_notes(aim: Aim) -> list[str]:
    """Given the aim, return what a person should know of keys that are being replaced."""
    if not aim.rotating or not aim.absent:
        return []
    what = " and ".join(sorted(aim.rotating))
    return [f"the old {what} key stays valid until {', '.join(aim.absent)} has been seen; run the same command then"]


def client_source(aim: Aim) -> Seen | None:
    """Given the aim, return the proxy box whose client keys the others get: the first one that answers."""
    return aim.proxies[0] if aim.proxies else None


def _another(source: Seen, seen: Seen) -> bool:
    """Whether the present engine key of a box becomes another; unknown ones count as others."""
    present, coming = seen.keys.get("engine"), source.keys.get("engine")
    return present is None or coming is None or present != coming


def _clients(aim: Aim) -> list[Stage]:
    """Client keys on every proxy box: made on the first one, copied to the others.

    What only another one has is taken over first: made anew, a client would have to be told a new key.
    """
    source, names = client_source(aim), aim.config.proxy.clients
    if source is None or not names:
        return []
    for other in aim.proxies[1:]:
        if kept := [name for name in names if name in other.clients and name not in source.clients]:
            text = f"client keys of {', '.join(kept)} from {other.box} on {source.box}"
            params = {"source": other.box, "missing": True}
            return stage("share the client keys", [Step(source.box, "clients.share", params, text, "it lacks them")])
    stages: list[Stage] = []
    there = set(source.clients)
    if there != {*names, OWN}:
        why = _named(there, names)
        text = f"client keys on {source.box}"
        stages += stage("make the client keys", [Step(source.box, "clients.ensure", {"names": names}, text, why)])
    lacking = [other.box for other in aim.proxies[1:] if stages or other.clients != source.clients]
    why = "every proxy must know the same clients"
    steps = [
        Step(box, "clients.share", {"source": source.box}, f"client keys of {source.box} on {box}", why)
        for box in lacking
    ]
    return stages + stage("share the client keys", steps)


def _named(there: set[str], names: list[str]) -> str:
    new, gone = [name for name in names if name not in there], sorted(there - {*names, OWN})
    told = [*([f"new: {', '.join(new)}"] if new else []), *([f"no longer: {', '.join(gone)}"] if gone else [])]
    return "; ".join(told) or "floor verify needs one"


def key_problems(aim: Aim) -> list[str]:
    """Given the aim, return a line where keys would be made although a box that does not answer may have some.

    The engines that serve now ask for those; what is made now would shut the others out once that box is back.
    """
    source = aim.keyed
    if source is None or source.secrets is not None:
        return []
    return [
        f"{source.box}: has no keys yet, and {box} does not answer, which may have some; deploy once it answers, or "
        "add --force where it has none"
        for box in aim.absent
    ]
