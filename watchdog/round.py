"""One round: look, decide on every copy, do it, say it, and tell a person where one is needed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from floor.box import away, direct, events, paths
from floor.box.observe import document
from floor.box.operation import Operation, now
from floor.errors import FloorError
from floor.healthcheck.verdict import Level
from floor.notify import foreign, matters, peers, send
from floor.notify.decide import PAUSE, Matter, Message, Told, unsent
from floor.notify.decide import decide as due

from . import state
from .act import act
from .decide import Action, Decision, decide
from .look import World, held, look
from .memory import Memory
from .peers import statuses
from .seen import Seen
from .settings import Copy, Settings

TELLS = (
    20.0  # seconds of a round in which messages are sent; each may take ten, and what is left waits for the next one
)
SOUGHT_EVERY = 600.0  # seconds between two looks for what somebody else has against our units: it reads their scripts


@dataclass(frozen=True)
class Round:
    """What a round needs: settings, the world, where to log, the wall clock, and how to act and to send."""

    settings: Settings
    world: World
    log: Callable[[str], None]
    wall: Callable[[], float] = time.time
    act: Callable[..., str] = act
    send: Callable[..., None] = send.send
    peers: Callable[[Sequence[str], Path], list[Mapping[str, Any]]] = statuses

    def run(self, *, dry_run: bool, seek: bool = False) -> dict[str, Decision]:
        """Carry out one round and return the decisions by backend. With `dry_run` nothing is done, kept or told; with
        `seek` foreign units are looked for although it is not time yet.

        Raise FloorError if the box cannot be looked at. Two rounds never run at once: the later one waits.
        """
        root, boot = self.world.root, now().boot
        with _alone(root):
            before = state.read(root, boot)
            box, seen = look(self.settings, self.world)
            memories: dict[str, Memory] = {}
            decisions: dict[str, Decision] = {}
            for copy in self.settings.copies:
                memory = before.memories.get(copy.unit, Memory())
                memories[copy.unit], decision = decide(memory, seen[copy.unit], box, copy, self.settings.restarts)
                if decision.action is not Action.NONE and not dry_run:
                    decision = self._do(copy, seen[copy.unit], decision)
                decisions[copy.backend] = decision
                if not dry_run:
                    self._say(copy, decision, before.decisions.get(copy.backend))
            if not dry_run:
                last = {backend: shown(decision, self.wall()) for backend, decision in decisions.items()}
                kept = state.State(memories, before.told, last, before.foreign, before.sought)
                # Before anybody is told: a web hook that hangs must not make it forget how often it has acted.
                state.write(kept, root, boot, self.wall())
                self._direct()
                others, sought = self._foreign(before, seek=seek)
                told = self._tell(before.told, decisions, others)
                state.write(replace(kept, told=told, foreign=others, sought=sought), root, boot, self.wall())
            return decisions

    def _do(self, copy: Copy, seen: Seen, decision: Decision) -> Decision:
        """Act, if it is still called for. What kept from it becomes the decision."""
        if decision.action is Action.RESTART:
            again = self.world.ask([copy], self.settings.key_file, self.world.root).get(copy.unit)
            if again is not None and again[0].level is Level.GENERATES:
                return Decision(Action.NONE, "recovered", f"asked once more: {again[0].evidence}")
        try:
            kept = self.act(decision.action, copy, seen.unit, self.world.root, self.world.run)
        except FloorError as error:
            return Decision(Action.NONE, "could not act", f"{decision.action}: {error}", alarm=True)
        return Decision(Action.NONE, "came too late", kept) if kept else decision

    def _say(self, copy: Copy, decision: Decision, before: Mapping[str, Any] | None) -> None:
        """One event for every act, and for every change of what is found; what goes on is said once."""
        acts = decision.action is not Action.NONE
        if not acts and (before or {"reason": "ok"}).get("reason") == decision.reason:
            return
        done = f"{decision.action}: " if acts else ""
        text = f"{copy.backend}: {done}{decision.reason}: {decision.evidence}"
        self.log(text)
        data = {"backend": copy.backend, "action": str(decision.action), "reason": decision.reason}
        self._event(text, {**data, "evidence": decision.evidence})

    def _foreign(self, before: state.State, *, seek: bool) -> tuple[tuple[str, ...], float]:
        """Who else has something against our units: looked for now and then, and said when it is new."""
        now = self.world.clock()
        if not seek and before.sought is not None and now - before.sought < SOUGHT_EVERY:
            return before.foreign, before.sought
        found = tuple(self._seek()) if self.settings.copies else ()
        for text in found:
            if text not in before.foreign:
                self.log(text)
                self._event(text, {})
        return found, now

    def _direct(self) -> None:
        """Who asked engines here past the proxy, for all who may not ask the kernel; a new address is an event."""
        root = self.world.root
        before = {one["address"] for one in direct.last(root)}
        ports = {copy.port for copy in self.settings.copies if copy.port}
        others = direct.engines({copy.backend for copy in self.settings.copies}, root)
        found = [*direct.look(self.world.run), *self.world.beside(ports, others)]
        try:
            direct.keep(found, root)
        except FloorError as error:
            self.log(str(error))
        for one in found:
            if one["address"] not in before:
                text = f"{one['address']} asked {direct.words(one['address'])} past the proxy"
                self.log(text)
                self._event(text, {"address": one["address"], "direct": True})

    def _seek(self) -> list[str]:
        copies = self.settings.copies
        units, ports = [copy.unit for copy in copies], sorted({copy.port for copy in copies if copy.port})
        seen = self.world.seek(units, ports, self.world.root, self.world.run)
        return foreign.words(seen, units, ports, sorted({copy.dialect for copy in copies}))

    def _tell(self, told: Told, decisions: Mapping[str, Decision], others: tuple[str, ...]) -> Told:
        """Send what is due, for a while. The first one that cannot be sent is an event, and ends it; what was not sent
        is still to be told."""
        notify = self.settings.notify
        if not notify.wanted:
            return told
        now, began = self.wall(), self.world.clock()
        after, messages = due(told, self._matters(decisions, others, told), now, notify.every, notify.most)
        for number, message in enumerate(messages):
            if self.world.clock() - began >= TELLS:
                return unsent(told, after, messages[number:])
            if not self._send(message):
                return unsent(told, after, messages[number:], now + PAUSE)
        return after

    def _send(self, message: Message) -> bool:
        try:
            self.send(self.settings.notify, os.uname().nodename, message, self.world.root)
        except FloorError as error:
            self._event(f"nobody could be told: {error}: {message.text}", {"key": message.key})
            self.log(f"nobody could be told: {error}: {message.text}")
            return False
        return True

    def _matters(self, decisions: Mapping[str, Decision], others: tuple[str, ...], told: Told) -> list[Matter]:
        root = self.world.root
        loud = [(name, one.reason, one.evidence) for name, one in decisions.items() if one.alarm]
        kept = {unit: hold.words for unit, hold in held(root).items()}
        record = Operation(root).read()
        short = matters.of_pools(document(paths.POOL_STATE, root), self.wall(), _away(record, root))
        return [
            *matters.of_decisions([one for one in loud if one[1] != "held"]),
            *matters.of_holds(kept),
            *foreign.matters(others),
            *matters.of_operation(record),
            *peers.own(short, told, self.peers(self.settings.notify.before, root) if short else ()),
            *matters.of_direct(direct.last(root)),
        ]

    def _event(self, text: str, data: Mapping[str, Any]) -> None:
        try:
            events.append("watchdog", text, data, at=self.wall(), root=self.world.root)
        except FloorError as error:
            self.log(str(error))


def shown(decision: Decision, at: float) -> dict[str, Any]:
    """Given a decision and unix seconds, return it as `floor watchdog --json` shows it."""
    return {
        "action": str(decision.action),
        "reason": decision.reason,
        "evidence": decision.evidence,
        "alarm": decision.alarm,
        "at": round(at, 3),
    }


def _away(record: Mapping[str, Any] | None, root: Path) -> frozenset[str]:
    """The models that a switch or a swap at work keeps away: whoever gave it knows."""
    try:
        return frozenset(away.live(away.read(root), record["epoch"] if record is not None and record["live"] else None))
    except FloorError:
        return frozenset()  # that nobody serves them is told then


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    place = paths.under(root, paths.WATCHDOG_STATE).with_name("lock")
    place.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
