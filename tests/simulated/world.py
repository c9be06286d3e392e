"""Boxes that exist only in memory, one clock for all, and something that can happen at any call.

A world counts its calls. Before one of them, or after it took effect, it can cut the box off for a while or take its
power: what a lost answer, a broken network and a power cut look like to `floor`. A SIGKILL of `floor` at some call is
the world as it was just before it. What must never happen, whoever calls what, is written into `wrong` as it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from floor.desired.state import BoxState, Launch
from floor.operations.lease import RENEW_EVERY

if TYPE_CHECKING:
    from tests.simulated.box import SimulatedBox

BOOT_SECONDS = 30.0  # from the order to reboot until the box answers again
LOAD_SECONDS = 8.0  # from the start of an engine until it is warm
LOOK_SECONDS = 1.0
PROOF_SECONDS = 1.0  # for which a pool must find a backend serving before it takes it
REQUEST_SECONDS = 4.0  # for which what a backend was sent last goes on
STOP_SECONDS = 2.0  # from the order to stop an engine until its last process is gone
FREE_SECONDS = 3.0  # and from there until its memory is free


@dataclass
class Keeper:
    """Renews the lease of the operation at work as its own thread would, by the world's clock."""

    renew: Callable[[], None] | None = None
    at: float = 0.0

    def look(self, now: float) -> None:
        if self.renew is not None and now - self.at >= RENEW_EVERY:
            self.at = now
            self.renew()


KEEPER = Keeper()  # of the one process that runs


@dataclass
class World:
    """All boxes, one clock, and what the processes that run were started with."""

    boxes: dict[str, SimulatedBox] = field(default_factory=dict)
    now: float = 1000.0
    broken: set[str] = field(default_factory=set)  # launch digests that never come up
    hung: set[str] = field(default_factory=set)  # backends that no pool finds generating
    launches: dict[str, Launch] = field(default_factory=dict)
    boot_seconds: float = BOOT_SECONDS
    calls: int = 0
    at: int | None = None  # the call at which `then` happens
    after: bool = False  # whether the call takes effect first
    then: Callable[[str], None] | None = None
    log: list[str] = field(default_factory=list)
    sent: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)  # engines that were stopped while they had requests
    wrong: list[str] = field(default_factory=list)  # what must never happen, and did
    accidents: int = 0  # what happened to boxes by itself
    guarded: frozenset[str] = frozenset()  # models that no call may take away from anybody
    kept: frozenset[tuple[str, str, str]] = frozenset()  # (box, backend, holder) of drains that no call may end
    banned: frozenset[tuple[str, str]] = frozenset()  # (backend, launch digest) that must not answer any client
    verdicts: dict[str, str] = field(default_factory=dict)  # of the tool test, by launch digest; PASS for the others
    before: Callable[[], None] = lambda: None  # called before each call takes effect
    watch: Callable[[], None] = lambda: None  # and after it

    def learn(self, wanted: Mapping[str, BoxState]) -> None:
        """Processes started from now on carry these launches."""
        for state in wanted.values():
            self.launches |= {unit.launch.digest: unit.launch for unit in state.units}

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float, step: float = LOOK_SECONDS) -> None:
        """Let time pass, in steps in which a pool may look."""
        ends = self.now + seconds
        while self.now < ends:
            self.now = min(ends, self.now + step)
            self.settle()
            KEEPER.look(self.now)

    def settle(self) -> None:
        """Boxes that were cut off come back in their time, and every pool looks at its backends."""
        for box in self.boxes.values():
            box.pass_time()
            box.pools.look()

    def members(self, proxy: str, model: str = "flagship") -> set[str]:
        """Who is in the pool of `model` on one proxy box."""
        return set(self.boxes[proxy].pools.members.get(model, ()))

    def answering(self, proxy: str, model: str = "flagship") -> set[str]:
        """Which members clients of one proxy box really get an answer from."""
        pools = self.boxes[proxy].pools
        return {name for name in self.members(proxy, model) if pools.answers(model, name)}

    def tick(self, box: str, call: str, params: Mapping[str, Any], answer: Callable[[], Any]) -> Any:
        """One call of one box's agent."""
        self.before()
        self.calls += 1
        self.now += 0.05
        self.settle()
        self.log.append(f"{box} {call}")
        self.sent.setdefault((call, tuple(sorted(params))), {**params})
        hit = self.at == self.calls and self.then is not None
        if hit and not self.after:
            self._happen(box)
        served, accidents = self._served(), self.accidents
        try:
            result = answer()
        finally:
            self._judge(served if accidents == self.accidents else {}, f"{call} on {box}")
        self.watch()
        if hit and self.after:
            self._happen(box)
        return result

    def _served(self) -> dict[tuple[str, str], set[str]]:
        return {(proxy, model): self.answering(proxy, model) for model in self.guarded for proxy in self.boxes}

    def _judge(self, before: Mapping[tuple[str, str], set[str]], call: str) -> None:
        """Write down what `call` has done and must not."""
        if not (self.guarded or self.kept or self.banned):
            return
        for box in self.boxes.values():
            box.pools.look()
        after = self._served()
        for (proxy, model), names in before.items():
            if names and not after[proxy, model] and self.boxes[proxy].up:  # a proxy that reboots answers nobody
                self.wrong.append(f"{call} took {model} from the clients of {proxy}: {', '.join(sorted(names))}")
        for box, backend, holder in self.kept:
            if all(drain.holder != holder for drain in self.boxes[box].recorded.get(backend, ())):
                self.wrong.append(f"{call}: {backend} is no longer drained by {holder} on {box}")
        self.look_for_banned(call)

    def look_for_banned(self, when: str) -> None:
        """Write down what answers clients and must not."""
        for backend, digest in self.banned:
            model, _, place = backend.partition("@")
            process = self.boxes[place].processes.get(f"floor-copy-{model}.service")
            for proxy in self.boxes:
                if process and process.digest == digest and backend in self.answering(proxy, model):
                    self.wrong.append(f"{when}: clients of {proxy} get answers from the old build of {backend}")

    def _happen(self, box: str) -> None:
        assert self.then is not None
        self.then(box)

    def cut_off(self, box: str, seconds: float = 20.0) -> None:
        """A box is out of reach for a while."""
        self.accidents += 1
        self.boxes[box].up, self.boxes[box].back_at = False, self.now + seconds

    def power_cut(self, box: str, seconds: float = 0.0) -> None:
        """A box loses its power, and starts again after a while."""
        self.accidents += 1
        self.boxes[box].power_cut(seconds)


def in_turn(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What `floor.operations.together` does, without threads: the same run gives the same calls."""
    found: list[Any] = []
    for call in calls:
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)
    return found
