"""The boxes of one floor.yaml: reached side by side, observed, and what they must hold."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from floor.apply.transport import Transport, UnreachableError
from floor.box import paths
from floor.box.weights import folder_of
from floor.config.load import Loaded
from floor.config.model import Config, ResolvedCopy
from floor.desired.build import build
from floor.desired.state import MODES, BoxFacts, BoxState, Kind, Network
from floor.engines.known import ENGINES
from floor.errors import BoxError, RefusedError, UsageError
from floor.operations.together import in_threads
from floor.plan.aim import Aim
from floor.plan.difference import KEYS, belongs_to, model_of
from floor.plan.seen import parse

Answer = TypeVar("Answer")
NEXT_WAY = f"unix:{paths.MEMBERS.parent}/next-"  # see floor.desired.front
DEFAULT_MODE = "replicas"
Resolve = Callable[[str], str | None]


@dataclass(frozen=True)
class Site:
    """A loaded floor.yaml, a transport for each managed box, and the release that the boxes should run.

    `clock` gives seconds and `sleep` passes them: all that waits between calls waits by them. `together` makes several
    calls at once.
    """

    loaded: Loaded
    boxes: Mapping[str, Transport]
    release: str
    resolve: Resolve = field(default=lambda host: resolve(host))
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    together: Callable[[Sequence[Callable[[], Any]]], list[Any]] = in_threads
    _asked: dict[str, dict[str, Any]] = field(default_factory=dict, init=False, repr=False)  # what was asked last

    def each(self, boxes: Iterable[str], ask: Callable[[str, Transport], Answer]) -> dict[str, Answer | BoxError]:
        """Ask several boxes at once. A box that fails is in the result with its error, the others are not held up."""

        names = list(boxes)
        found = self.together([partial(ask, box, self.boxes[box]) for box in names])
        answers: dict[str, Answer | BoxError] = {}
        for box, answer in zip(names, found, strict=True):
            if isinstance(answer, BaseException) and not isinstance(answer, BoxError):
                raise answer
            answers[box] = answer
        return answers

    def observe(
        self,
        mode: str | None = None,
        *,
        among: Collection[str] | None = None,
        patience: float = 0.0,
        switch: bool = False,
    ) -> Aim:
        """Look at every managed box and say what each must hold in `mode`, by default the one they are in.

        A `switch` to `mode` accepts boxes that are in the other one. With `among` the others count as absent, unasked.
        A box that is out of reach is asked once more after `patience` seconds, where that is not 0: one lost
        connection is no absence.

        Raise BoxError where a box answers but cannot be asked, or where no box answers at all; RefusedError where
        the boxes are in another mode, or not all in the same.
        """
        config = self.loaded.config
        asked_for = [box for box in self.boxes if among is None or box in among]
        addresses = {name: self.resolve(box.host) for name, box in config.boxes.items()}
        toward = sorted({address for address in addresses.values() if address})
        plain = {"toward": toward, "read": [str(paths.MEMBERS)]}
        before = {box: self._asked.get(box, {}) for box in asked_for}
        asking = {
            box: {**last, **plain, "read": [*plain["read"], *last.get("read", ())]} for box, last in before.items()
        }
        first, absent = self._ask(asked_for, asking, patience)
        _demand_one(first, absent)
        facts = box_facts(addresses, first)
        wanted = build(config, _mode(mode, first, switch=switch), facts, self.release)
        # What a box is to be asked follows from what it tells. While that is what it was asked last, once is enough.
        asking = {box: questions(config, wanted[box], first[box].get("owned") or ()) for box in first}
        others = [box for box in first if asking[box] != before[box]]
        again, late = self._ask(others, asking, patience)
        self._asked.update(asking)
        seen = {box: parse(box, {**first, **again}[box]) for box in first if box not in late}
        _demand_one(seen, late)
        unasked = {box: f"{box}: takes no part" for box in self.boxes if box not in asked_for}
        return Aim(config, wanted, seen, {**absent, **late, **unasked}, addresses, facts=facts)

    def mode(self) -> str:
        """The mode that the boxes are in, by the first one that tells; replicas where none does, or none is split."""
        if not self.loaded.config.splits:
            return DEFAULT_MODE
        answers = self.each(self.boxes, lambda _box, transport: transport.call("observe", {}))
        told = (answer.get("mode") for answer in answers.values() if not isinstance(answer, BoxError))
        return next((str(mode) for mode in told if mode in MODES), DEFAULT_MODE)

    def _ask(
        self, boxes: Iterable[str], asked: Mapping[str, Mapping[str, Any]], patience: float
    ) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
        found: dict[str, dict[str, Any]] = {}
        absent: dict[str, str] = {}
        failed: list[str] = []
        answers = self.each(boxes, lambda box, transport: transport.call("observe", asked.get(box, {})))
        lost = [box for box, answer in answers.items() if isinstance(answer, UnreachableError)]
        if lost and patience:
            self.sleep(patience)
            answers |= self.each(lost, lambda box, transport: transport.call("observe", asked.get(box, {})))
        for box, answer in answers.items():
            if isinstance(answer, UnreachableError):
                absent[box] = str(answer)
            elif isinstance(answer, BoxError):
                failed.append(str(answer))
            else:
                found[box] = answer
        if failed:
            raise BoxError("\n".join(failed))
        return found, absent


def _demand_one(found: Mapping[str, object], absent: Mapping[str, str]) -> None:
    if absent and not found:
        raise BoxError("no box answers:\n" + "\n".join(absent.values()))


def box_facts(addresses: Mapping[str, str | None], observed: Mapping[str, Mapping[str, Any]]) -> dict[str, BoxFacts]:
    """Given what each box's host resolved to and what its agent told, return what the renderer needs to know."""
    facts = {}
    for name, address in addresses.items():
        answer = observed.get(name, {})
        seen, sources = answer.get("facts", {}), answer.get("sources") or {}
        ipv6, user = bool(seen.get("ipv6")), seen.get("nginx_user") or "www-data"
        networks = tuple(Network(one["interface"], one["address"], one["prefix"]) for one in seen.get("networks") or ())
        facts[name] = BoxFacts(address, ipv6, user, sources, _rotating(answer), networks)
    return facts


def _rotating(answer: Mapping[str, Any]) -> bool:
    """Whether an engine key follows the present one on a box, or nginx still goes the way of one that followed."""
    members = (answer.get("texts") or {}).get(str(paths.MEMBERS)) or ""
    return bool(((answer.get("keys") or {}).get("next") or {}).get("engine")) or NEXT_WAY in members


def _mode(asked: str | None, answers: Mapping[str, Mapping[str, Any]], *, switch: bool) -> str:
    """The mode to plan for: of a switch the one asked for; else the boxes' own, the one asked for, or replicas."""
    if asked is not None and asked not in MODES:
        raise UsageError(f"mode {asked!r}: there is no such mode; write one of {', '.join(MODES)}")
    found = {box: str(answer["mode"]) for box, answer in answers.items() if answer.get("mode")}
    for box, mode in found.items():
        if mode not in MODES:
            raise RefusedError(f"{box}: {paths.MODE} says {mode!r}, which is no mode; remove it and deploy again")
    modes = set(found.values())
    if asked and switch:
        return asked
    if len(modes) > 1:
        told = ", ".join(f"{box}: {mode}" for box, mode in found.items())
        ways = " or ".join(f"`floor switch {mode}`" for mode in MODES)
        raise RefusedError(
            f"the boxes are in different modes ({told}): a switch was left in the middle; {ways} ends it"
        )
    present = next(iter(modes), asked or DEFAULT_MODE)
    if asked and asked != present:
        raise RefusedError(f"the boxes are in mode {present}, not {asked}; `floor switch {asked}` brings them there")
    return present


def questions(config: Config, state: BoxState, owned: Iterable[str]) -> dict[str, Any]:
    """Given the config, what a box must hold and which files of floor's it has, return the parameters of the `observe`
    call that compares it.

    Settings of copies are read also where they are no longer wanted: they tell how to ask what still runs.
    """
    images = sorted({unit.launch.image for unit in state.units if unit.launch.image})
    files = [file.path for file in state.files]
    settings = {path for path in (*files, *owned) if path.startswith((f"{paths.ENGINES}/", f"{paths.GROUPS}/"))}
    every = (one for model in config.models for one in (*config.copies(model), *config.parts(model)))
    copies = [copy for copy in every if copy.box == state.box]
    return {
        "firewalls": True,
        "tls": tls_question(config, state.box),
        "units": {**_gone(config, owned), **{unit.name: {"env": sorted(unit.launch.env)} for unit in state.units}},
        "files": [*files, *sorted({path for unit in state.units for path in KEYS.get(unit.kind, ())})],
        "images": images,
        "paths": sorted({path for copy in copies if copy.source for path in _needed(copy)}),
        "weights": sorted({folder_of(copy.source, copy.fetch.include) for copy in copies if copy.fetch}),
        "read": [str(paths.POOL_SETTINGS), *sorted(settings), *_last_read(state)],
    }


def _gone(config: Config, owned: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Engines that lie on a box, and which of their variables tell their build where they are not wanted any more."""
    units = {unit for path in owned if (unit := belongs_to(path))}
    named = {unit: config.models.get(model_of(unit)) for unit in units}
    every = {
        unit: {*model.env, *(name for copy in model.replicas for name in copy.env)}
        for unit, model in named.items()
        if model is not None
    }
    return {unit: {"env": sorted(names)} for unit, names in every.items()}


def _last_read(state: BoxState) -> list[str]:
    """Files that tell what a process has read last, of those whose age does not tell it."""
    return [str(paths.ADDRESS_READ)] if any(unit.kind is Kind.ADDRESS for unit in state.units) else []


def tls_question(config: Config, box: str) -> list[str]:
    """Given the config and a box, return which certificate and key the `observe` call is to look at; none elsewhere."""
    tls = config.proxy.tls
    return [tls.certificate, tls.key] if tls and box in config.proxy.boxes else []


def resolve(host: str) -> str | None:
    """Given a host name or an IP literal, return an address, or None where the name has none now.

    nginx must never be given a name: one that does not resolve keeps it from starting. Of several addresses always
    the same one is returned, IPv4 before IPv6: an engine would be restarted for another.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return min((str(entry[4][0]) for entry in found), key=_order, default=None)


def _order(address: str) -> tuple[int, int]:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    return parsed.version, int(parsed)


def _needed(copy: ResolvedCopy) -> Sequence[str]:
    return ENGINES[copy.engine].needs(copy.source, copy.model)
