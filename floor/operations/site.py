"""The boxes of one floor.yaml: reached side by side, observed, and what they must hold."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from floor.apply.transport import Transport, UnreachableError
from floor.box import paths
from floor.config.load import Loaded
from floor.config.model import Config
from floor.desired.build import MODES, build
from floor.desired.state import BoxFacts, BoxState
from floor.errors import BoxError, RefusedError, UsageError
from floor.plan.aim import Aim
from floor.plan.seen import parse

Answer = TypeVar("Answer")
DEFAULT_MODE = "replicas"
Resolve = Callable[[str], str | None]


@dataclass(frozen=True)
class Site:
    """A loaded floor.yaml, a transport for each managed box, and the release that the boxes should run."""

    loaded: Loaded
    boxes: Mapping[str, Transport]
    release: str
    resolve: Resolve = field(default=lambda host: resolve(host))

    def each(self, boxes: Iterable[str], ask: Callable[[str, Transport], Answer]) -> dict[str, Answer | BoxError]:
        """Ask several boxes at once. A box that fails is in the result with its error, the others are not held up."""

        def one(box: str) -> Answer | BoxError:
            try:
                return ask(box, self.boxes[box])
            except BoxError as error:
                return error

        names = list(boxes)
        with ThreadPoolExecutor(max_workers=max(1, min(16, len(names)))) as pool:
            return dict(zip(names, pool.map(one, names), strict=True))

    def observe(self, mode: str | None = None) -> Aim:
        """Look at every managed box and say what each must hold in `mode`, by default the one they are in.

        Raise BoxError where a box answers but cannot be asked, or where no box answers at all; RefusedError where
        the boxes are in another mode, or not all in the same.
        """
        first, absent = self._ask(self.boxes, {})
        wanted = build(self.loaded.config, _mode(mode, first), self._facts(first), self.release)
        answers, late = self._ask(
            first, {box: questions(self.loaded.config, wanted[box]) for box in first if box in wanted}
        )
        absent.update(late)
        seen = {box: parse(box, answer) for box, answer in answers.items()}
        return Aim(self.loaded.config, wanted, seen, absent)

    def _ask(
        self, boxes: Iterable[str], asked: Mapping[str, Mapping[str, Any]]
    ) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
        found: dict[str, dict[str, Any]] = {}
        absent: dict[str, str] = {}
        answers = self.each(boxes, lambda box, transport: transport.call("observe", asked.get(box, {})))
        for box, answer in answers.items():
            if isinstance(answer, UnreachableError):
                absent[box] = str(answer)
            elif isinstance(answer, BoxError):
                raise answer
            else:
                found[box] = answer
        if absent and not found:
            raise BoxError("no box answers:\n" + "\n".join(absent.values()))
        return found, absent

    def _facts(self, observed: Mapping[str, Mapping[str, Any]]) -> dict[str, BoxFacts]:
        facts = {}
        for name, box in self.loaded.config.boxes.items():
            seen = observed.get(name, {}).get("facts", {})
            user = seen.get("nginx_user") or "www-data"
            facts[name] = BoxFacts(self.resolve(box.host), bool(seen.get("ipv6")), user)
        return facts


def _mode(asked: str | None, answers: Mapping[str, Mapping[str, Any]]) -> str:
    """The mode to plan for: the boxes' own, else the one asked for, else replicas."""
    if asked is not None and asked not in MODES:
        raise UsageError(f"mode {asked!r}: there is no such mode; write one of {', '.join(MODES)}")
    found = {box: str(answer["mode"]) for box, answer in answers.items() if answer.get("mode")}
    modes = set(found.values())
    if len(modes) > 1:
        raise RefusedError("the boxes are in different modes: " + ", ".join(f"{b}: {m}" for b, m in found.items()))
    present = next(iter(modes), asked or DEFAULT_MODE)
    if asked and asked != present:
        raise RefusedError(f"the boxes are in mode {present}, not {asked}; a deployment does not change the mode")
    return present


def questions(config: Config, state: BoxState) -> dict[str, Any]:
    """Given the config and what a box must hold, return the parameters of the `observe` call that compares it."""
    images = sorted({unit.launch.image for unit in state.units if unit.launch.image})
    settings = [file.path for file in state.files if file.path.startswith(str(paths.ENGINES))]
    copies = [copy for model in config.models for copy in config.copies(model) if copy.box == state.box]
    return {
        "units": {unit.name: {"env": sorted(unit.launch.env)} for unit in state.units},
        "files": [file.path for file in state.files],
        "images": images,
        "paths": sorted({copy.source for copy in copies if copy.source}),
        "read": [str(paths.POOL_SETTINGS), *settings],
    }


def resolve(host: str) -> str | None:
    """Given a host name or an IP literal, return an address, or None where the name has none now.

    nginx must never be given a name: one that does not resolve keeps it from starting.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0]) if found else None
