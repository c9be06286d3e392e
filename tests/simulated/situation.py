"""Boxes that exist only in memory with a floor.yaml for them, and the verbs of `floor` on them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from floor.config.load import Loaded, parse
from floor.config.model import Config
from floor.desired.build import build
from floor.desired.state import MODES, BoxFacts, BoxState
from floor.errors import FloorError
from floor.operations import (
    abort,
    apart,
    change,
    deploy,
    lease,
    reboot,
    restart,
    site,
    status,
    swap,
    swap_back,
    switch,
)
from floor.operations.change import Change
from floor.operations.foreign import Meeting
from floor.operations.outcome import Outcome
from floor.operations.site import Site
from floor.operations.swap_edit import Wish
from tests.simulated.box import SimulatedBox
from tests.simulated.caller import Caller, Line
from tests.simulated.world import KEEPER, World, in_turn

TWO_BOXES = """\
boxes:
  spark-a: {host: 192.0.2.11}
  spark-b: {host: 192.0.2.12}
models:
  flagship:
    source: /models/flagship
    utilization: 0.4
    max_requests: 12
    runtime: {kind: docker, image: "registry.example/vllm:v1"}
    replicas: [spark-a, spark-b]
proxy: {boxes: [spark-a, spark-b]}
"""
ONE_BOX = TWO_BOXES.replace("  spark-b: {host: 192.0.2.12}\n", "").replace("[spark-a, spark-b]", "[spark-a]")
SPLIT = (
    TWO_BOXES.replace("11}", "11, fabric: {interface: fab0, address: 198.51.100.1}}")
    .replace("12}", "12, fabric: {interface: fab0, address: 198.51.100.2}}")
    .replace(
        "    replicas: [spark-a, spark-b]\n",
        "    replicas: [spark-a, spark-b]\n"
        "    split: {boxes: [spark-a, spark-b], tensor_parallel: 2, utilization: 0.7}\n",
    )
)
THREE_BOXES = TWO_BOXES.replace("models:", "  spark-c: {host: 192.0.2.13}\nmodels:", 1)

configured = functools.cache(parse)
WAITING = {"box.back", "unit.wait", "pool.wait", "memory.wait", "engine.idle"}
LOOKING = {
    "observe",
    "nginx.test",
    "launch.check",
    "launch.trial",
    "foreign.look",
    "fabric.look",
    "fabric.meet",
    "layout.look",
    "calibrate.look",
    "calibrate.measure",
    "operation.renew",
} | WAITING
UNCHANGED = Wish()
CALLER = {"user": "ada", "host": "laptop", "pid": 0, "started": 1.0}  # whoever runs a command now
AT_WORK: list[Situation] = []  # whose floor.yaml a process that runs now reads and writes
ASLEEP: set[object] = set()  # the processes that are neither at work nor dead
# with the config itself: another one must not get its id
_BUILT: dict[tuple[object, ...], tuple[Config, dict[str, BoxState]]] = {}


def built(config: Config, mode: str, facts: Mapping[str, BoxFacts], release: str) -> dict[str, BoxState]:
    """`build`, once for the same input: these tests plan thousands of times.

    The file is kept with what was built of it: of one that is gone, another one would get the id.
    """
    key = (id(config), mode, tuple(facts.items()), release)
    if key not in _BUILT:
        _BUILT[key] = config, build(config, mode, facts, release)
    found = _BUILT[key][1]
    for situation in AT_WORK:  # what is planned for may be started
        situation.world.learn(found)
    return found


@dataclass
class Situation:
    """A world and a floor.yaml for it. Each verb is a new caller, as a new process would be."""

    world: World
    text: str = TWO_BOXES
    release: str = "1"
    names: dict[str, str | None] = field(default_factory=dict)
    caller: Caller = field(default_factory=lambda: Caller(0))  # the one that runs, or ran last
    fate: Caller | None = None  # what is to happen to the next one
    other: Situation | None = None  # the same boxes with somebody else's floor.yaml
    said: list[str] = field(default_factory=list)
    was: str | None = None  # floor.yaml before a swap that is under way
    pages: list[str] = field(default_factory=list)  # reports of tests that said no
    no_room: bool = False  # for such a report, where the person is
    answers: list[bool] = field(default_factory=list)  # of the person, to questions; no once they are used up
    asked: list[str] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)

    def site(self) -> Site:
        CALLER["pid"] += 1  # type: ignore[operator] # a new process each time
        self.caller, self.fate = self.fate or Caller(0), None
        self.caller.pid = CALLER["pid"]  # type: ignore[assignment]
        AT_WORK[:] = [self]
        config = configured(self.text)
        loaded = Loaded(config, self.text, Path("floor.yaml"), ())
        world = self.world
        return Site(loaded, self.reach(config), self.release, self.resolve, world.clock, world.sleep, in_turn)  # type: ignore[arg-type] # a line is a transport

    def reach(self, config: Config) -> dict[str, Line]:
        """The lines of the process at work to the managed boxes of `config`."""
        facts = {name: BoxFacts(self.resolve(box.host)) for name, box in config.boxes.items()}
        for mode in MODES if config.splits else MODES[:1]:
            self.world.learn(built(config, mode, facts, self.release))
        managed = [name for name, box in config.boxes.items() if box.managed]
        for name in managed:
            if name not in self.world.boxes:
                SimulatedBox(self.world, name)
            self.world.boxes[name].address = facts[name].address or self.world.boxes[name].address
        return {name: Line(self.world.boxes[name], self.caller) for name in managed}

    def resolve(self, host: str) -> str | None:
        return self.names.get(host, host)

    def deployment(self, *, force: bool = False, take_over: bool = False) -> Change:
        site = self.site()
        given = site, "replicas", self.said.append, self.progress.append
        return deploy.deployment(*given, force=force, meeting=Meeting(site, take_over))

    def deploy(self, *, force: bool = False, take_over: bool = False) -> bool:
        """`floor deploy` without its checks. Return whether there was anything to do."""
        return self.run(self.deployment(force=force, take_over=take_over))

    def deploy_all(
        self,
        *,
        dry_run: bool = False,
        force: bool = False,
        roll_back: bool = False,
        take_over: bool = False,
        ungated: bool = False,
    ) -> Outcome:
        """`floor deploy`, whole."""
        given = self.site(), None, self.said.append, self.progress.append
        wish = {"dry_run": dry_run, "force": force, "roll_back": roll_back, "take_over": take_over, "ungated": ungated}
        return deploy.deploy(*given, **wish)

    def abort(self, *, dry_run: bool = False, force: bool = False) -> Outcome:
        """`floor deploy --abort`, whole."""
        given = self.site(), self.said.append, self.progress.append
        return abort.abort(*given, dry_run=dry_run, force=force, reach=self.reach)  # type: ignore[arg-type] # as above

    def deployment_in(self, mode: str) -> Outcome:
        """`floor deploy --mode MODE`, whole."""
        wish = {"dry_run": False, "force": False, "roll_back": False}
        return deploy.deploy(self.site(), mode, self.said.append, self.progress.append, **wish)

    def switch(self, mode: str, *, dry_run: bool = False, force: bool = False) -> Outcome:
        """`floor switch MODE`, whole."""
        given = self.site(), mode, self.said.append, self.progress.append
        return switch.switch(*given, dry_run=dry_run, force=force)

    def switch_back(self, *, dry_run: bool = False, force: bool = False) -> Outcome:
        """`floor switch --abort`, whole."""
        given = self.site(), self.said.append, self.progress.append
        return switch.switch_back(*given, dry_run=dry_run, force=force)

    def swap(
        self,
        model: str,
        wish: Wish = UNCHANGED,
        *,
        dry_run: bool = False,
        force: bool = False,
        baseline: Path | None = None,
    ) -> Outcome:
        """`floor swap MODEL`, whole."""

        def ask(question: str) -> bool:
            self.asked.append(question)
            return bool(self.answers) and self.answers.pop(0)

        page = Path("report.md")
        terms = swap.Terms(self.said.append, self.progress.append, ask, page, baseline, dry_run=dry_run, force=force)
        return swap.swap(self.site(), model, wish, terms)

    def swap_back(self, *, dry_run: bool = False, force: bool = False) -> Outcome:
        """`floor swap --abort`, whole."""
        given = self.site(), self.said.append, self.progress.append
        return swap_back.swap_back(*given, dry_run=dry_run, force=force)

    def restart(self, *names: str, force: bool = False) -> bool:
        """`floor restart`. Return whether there was anything to do."""
        return self.run(restart.restarting(self.site(), names, self.said.append, self.progress.append, force=force))

    def reboot(self, *boxes: str, force: bool = False) -> bool:
        """`floor reboot`. Return whether there was anything to do."""
        given = self.site(), boxes, self.said.append, self.progress.append
        return reboot.reboot(*given, force=force).changed

    def run(self, change: Change) -> bool:
        aim, plan = change.look()
        if plan:
            change.run(aim, plan)
        return bool(plan)

    def box(self, name: str) -> SimulatedBox:
        return self.world.boxes[name]

    def starts(self, box: str, unit: str = "floor-copy-flagship.service") -> int:
        """How often a unit has been started on a box."""
        return self.box(box).starts.count(unit)

    def members(self, model: str = "flagship") -> list[set[str]]:
        """Who is in the pool of each proxy box, in their order."""
        return [self.world.members(box, model) for box in configured(self.text).proxy.boxes]

    def at_each_call(self, verb: Callable[[Situation], bool]) -> list[Situation]:
        """Run a command to its end. Return what was there after each call that changed something, and before the first:
        where a SIGKILL would leave it. What only looks leaves it as it was."""
        found: list[Situation] = []

        def keep() -> None:
            if found and self.world.log[-1].split()[1] in LOOKING:
                return
            kept = copy.deepcopy(self)
            kept.world.before = kept.world.watch = lambda: None
            found.append(kept)

        self.world.before = keep
        assert verb(self)
        self.world.before = lambda: None
        return found

    def edit(self, old: str, new: str) -> None:
        assert old in self.text, old
        self.text = self.text.replace(old, new)


def dead(by: Mapping[str, object]) -> bool:
    """What `floor.operations.caller.dead` tells: a process of this user that is neither this one nor asleep."""
    return by["user"] == CALLER["user"] and by["pid"] != CALLER["pid"] and by["pid"] not in ASLEEP


@contextmanager
def asleep(_situation: Situation) -> Iterator[None]:
    """The process of the situation does nothing meanwhile, and is there all the same."""
    pid, renew, at, work = CALLER["pid"], KEEPER.renew, KEEPER.at, list(AT_WORK)
    KEEPER.renew = None
    ASLEEP.add(pid)
    try:
        yield
    finally:
        ASLEEP.discard(pid)
        CALLER["pid"] = pid
        KEEPER.renew, KEEPER.at = renew, at
        AT_WORK[:] = work


class FileInMemory:
    """What `floor.operations.config_file` does, with the floor.yaml of the situation at work."""

    @staticmethod
    def before(_path: Path) -> str | None:
        return AT_WORK[0].was

    @staticmethod
    def replace(_path: Path, old: str, new: str) -> None:
        AT_WORK[0].was = None if old == new else old
        AT_WORK[0].text = new

    @staticmethod
    def keep(_path: Path) -> None:
        AT_WORK[0].was = None

    @staticmethod
    def restore(_path: Path, _new: str) -> str:
        was = AT_WORK[0].was
        if was is None:
            return ""
        AT_WORK[0].text, AT_WORK[0].was = was, None
        return "floor.yaml is as it was before the swap"


class PageInMemory:
    """What `floor.operations.own_file` does with the report of a swap."""

    @staticmethod
    def write(path: Path, text: str) -> None:
        if AT_WORK[0].no_room:
            raise FloorError(f"{path}: cannot be written: No space left on device")
        AT_WORK[0].pages.append(text)


class KeptLease(lease.Lease):
    """A lease that is kept by the world's clock."""

    def __enter__(self) -> Self:
        super().__enter__()
        KEEPER.renew, KEEPER.at = self.renew, self.site.clock()
        return self

    def __exit__(self, *given: object) -> None:
        KEEPER.renew = None
        super().__exit__(*given)


def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let operations run on simulated boxes: the clock is the world's, and no thread keeps the lease."""
    monkeypatch.setattr(site, "build", built)
    monkeypatch.setattr(change, "Lease", KeptLease)
    monkeypatch.setattr(apart, "Lease", KeptLease)
    monkeypatch.setattr(lease, "caller", lambda: dict(CALLER))
    monkeypatch.setattr(reboot, "boot", lambda: "boot of the laptop")
    for module in (swap, swap_back):
        monkeypatch.setattr(module, "config_file", FileInMemory)
    monkeypatch.setattr(swap, "own_file", PageInMemory)
    for module in (lease, reboot, restart, status, abort, apart, deploy, switch, swap_back):
        monkeypatch.setattr(module, "dead", dead)
    ASLEEP.clear()
