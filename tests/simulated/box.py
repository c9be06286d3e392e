"""One simulated box: its files, its units and processes, its power and its network."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from floor.apply.transport import UnreachableError
from floor.box import drains, lease, paths
from floor.box.drains import Drain
from floor.desired import firewall, keepalived
from floor.desired.services import TARGET
from floor.desired.state import Launch
from floor.errors import BoxError
from tests.simulated import engines
from tests.simulated.calls import Calls
from tests.simulated.keyring import Keyring
from tests.simulated.others import Other
from tests.simulated.pools import Pools, settings
from tests.simulated.world import FREE_SECONDS, STOP_SECONDS, World

UNITS = "/etc/systemd/system/"
answering: Callable[[SimulatedBox], Calls] = lambda box: Calls(box)  # noqa: E731 # who answers for a new box
FACTS = {
    "nginx": "1.22.1",
    "docker": "20.10",
    "ipv6": False,
    "nginx_user": "www-data",
    "memory": {"total": 128 << 30, "available": 100 << 30},
    "machine": "x86_64",
    "python": "3.11.2",
    "libc": "2.36",
}


@dataclass
class Process:
    """A unit that was started: since when, with which launch, and what it has read then."""

    started: float
    digest: str
    invocation: str
    argv: tuple[str, ...]
    image: str
    key: str | None
    following: str | None  # of pools and proxies: the engine key that follows the present one
    settings: dict[str, Any]
    pid: int
    leaves: bool = False  # a part of a group: a deployment takes it away
    waits: bool = False  # and: it is at its gate, or was never there, and cannot be told that

    port: int | None = field(init=False)
    share: float = field(init=False)  # of the box's memory

    def __post_init__(self) -> None:
        words = self.argv
        told = re.search(r"(?:^| )(?:--port |OLLAMA_HOST=\S+:)(\d+)", " ".join(words))
        self.port = int(told[1]) if told else None
        share = "--gpu-memory-utilization"
        self.share = float(words[words.index(share) + 1]) if share in words else 0.0


@dataclass
class Lying:
    """A file on the box."""

    text: str
    mode: int
    owner: str
    mtime: float
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        self.sha256 = hashlib.sha256(self.text.encode()).hexdigest()


@cache
def engine_rules(text: str) -> tuple[frozenset[int], frozenset[str]]:
    """Given the rules of a firewall, return the engine ports that it guards and the addresses that it lets in there."""
    guarded = re.search(r"tcp dport \{ ([^}]*) \} jump engines", text)
    ports = frozenset(map(int, guarded[1].split(", "))) if guarded else frozenset()
    chain = text.partition("chain engines {")[2].partition("\n    }")[0]
    found = re.findall(r"saddr \{ ([^}]*) \} accept", chain)
    return ports, frozenset(address for addresses in found for address in addresses.split(", "))


class SimulatedBox:
    """One box. It is a Transport: `call` answers as the agent would."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.up, self.off = world, name, True, False
        self.back_at: float | None = None
        self.refuses: BoxError | None = None  # reached, but its agent cannot be asked
        self.files: dict[str, Lying] = {}
        self.processes: dict[str, Process] = {}
        self.stopping: dict[str, float] = {}  # until when the processes of a unit take to end
        self.freed: dict[str, tuple[float, float]] = {}  # memory that an engine leaves, and until when it is not free
        self.enabled: set[str] = set()
        self.needs_reload: set[str] = set()
        self.recorded: dict[str, tuple[Drain, ...]] = {}
        self.record: lease.Record | None = None
        self.secrets: tuple[str, float] | None = None  # the present engine key, and since when
        self.keyring = Keyring()
        self.config: str | None = None
        self.configs: list[str] = []
        self.release: str | None = "1"
        self.boot = "boot-1"
        self.booted = -math.inf
        self.reboots = 0  # asked for by floor
        self.starts: list[str] = []
        self.images: dict[str, str | None] = {}
        self.lacking: set[str] = set()  # paths that are not there
        self.weights: dict[str, dict[str, Any]] = {}  # what is known of folders of weights
        self.held: dict[str, dict[str, Any]] = {}  # ports held by somebody else
        self.facts: dict[str, Any] = dict(FACTS)
        self.nginx_says = ""
        self.trial_says = ""  # what a fresh process of an engine's build complains of
        self.unreadable = False  # weights that the engine's user may not read
        self.build: dict[str, Any] = {}  # what `fabric.look` tells otherwise than usual
        self.cut_off = False  # from the other boxes of a group, on their fabric
        self.full = False  # no memory is free
        self.events: list[dict[str, Any]] = []
        self.journal: list[str] = []
        self.connections: dict[str, Any] = {"come": [], "go": [], "direct": [], "turned": {}}
        self.left: dict[str, list[int]] = {}
        self.others: list[Other] = []  # what somebody else runs here
        self.address = ""  # the literal of its host
        self.rules: str | None = None  # of the firewall, as they are loaded
        self.nftables = True
        self.read: str | None = None  # what keepalived has read last
        self.strangers: list[str] = []  # who else answers for the shared address
        self.tls: dict[str, Any] = {}  # what is seen of the certificate, where it is asked for
        self.direct: list[dict[str, Any]] = []  # who went past the proxy
        self.firewalls: list[dict[str, Any]] = []  # other people's
        self.guard: dict[str, Any] | None = None  # what its guard reported last
        self.guard_age, self.guard_runs = 1.0, "active"  # how long ago, and what systemd says of it
        self.holds: dict[str, dict[str, Any]] = {}
        self.alarms: list[str] = []  # of guard and watchdog
        self.watchdog: dict[str, dict[str, Any]] = {}
        self.foreign_lines: list[str] = []  # what its watchdog knows of units of somebody else's
        self.announced: dict[str, Any] = {}  # what clients of this box are told of a switch
        self.booting: dict[str, str] = {}  # the engines that the last boot started, and the runs that these are
        self.tests: dict[str, dict[str, Any]] = {}  # the last tool test of each unit
        self.baselines: dict[str, dict[str, str]] = {}  # by model and name
        self.sizes: dict[str, int] = {}  # of folders of weights
        self.logged: dict[str, Any] = {}  # what the log of an engine's start tells
        self.headers: dict[str, Any] = {}  # of weights, by their folder
        self.calibrations: dict[str, Any] = {}  # what backends were measured at
        self.noted: dict[str, Any] = {}  # how long starts and stops took here
        self.pools = Pools(self)
        self.calls = answering(self)
        world.boxes[name] = self

    # what the tests do to it
    def power_cut(self, seconds: float = 0.0) -> None:
        """Everything in memory is gone; enabled units start again with the box."""
        self.boot += "x"
        for gone in (self.processes, self.stopping, self.freed, self.needs_reload):
            gone.clear()
        self.pools.forget()
        self.rules = None
        self.off = True
        self.up, self.back_at = False, self.world.now + seconds
        if not seconds:
            self.pass_time()

    def pass_time(self) -> None:
        """What is due by the world's clock: the box is back, an engine has ended."""
        if self.back_at is not None and self.world.now >= self.back_at:
            self.up, self.back_at = True, None
            if self.off:
                self._boot()
        for unit in [unit for unit, ends in self.stopping.items() if self.world.now >= ends]:
            del self.stopping[unit]
            self._ends(unit)

    def _boot(self) -> None:
        self.off, self.booted = False, self.world.now
        for unit in sorted(self.enabled):
            if UNITS + unit in self.files:
                self.start(unit)
        self.booting = {name: one.invocation for name, one in self.processes.items() if engines.engine(name)}

    def wipe(self) -> None:
        """Floor and all that is its own is taken off."""
        for gone in (self.processes, self.stopping, self.files, self.enabled, self.recorded, self.needs_reload):
            gone.clear()
        self.pools.forget()
        self.record = self.secrets = self.config = self.release = None
        self.configs = []

    def reboot(self) -> None:
        """The box goes down now, whatever it has, and is up again later; its units start then."""
        self.reboots += 1
        self.world.cut += [
            name for name in self._serving() if any(b.pools.busy(name) for b in self.world.boxes.values())
        ]
        self.power_cut(self.world.boot_seconds)

    def _serving(self) -> list[str]:
        up = [unit for unit in self.processes if engines.engine(unit) and self.state(unit) == "active"]
        return [engines.backend(self, unit) for unit in up]

    def edit(self, path: str, text: str) -> None:
        """Somebody edits a file by hand."""
        self.put(path, text, 0o644, "root:root")

    def stop(self, unit: str) -> None:
        """Order a unit to stop: an engine takes its time."""
        if engines.engine(unit) and unit in self.processes:
            self.stopping.setdefault(unit, self.world.now + STOP_SECONDS)
        else:
            self._ends(unit)

    def _ends(self, unit: str) -> None:
        process = self.processes.pop(unit, None)
        if process is not None and process.share:
            self.freed[unit] = (process.share, self.world.now + FREE_SECONDS)

    def memory_used(self, but: str = "") -> float:
        """The share of memory that engines hold, or held until a moment ago; `but` that of one unit's process."""
        late = sum(share for share, until in self.freed.values() if self.world.now < until)
        return late + sum(process.share for unit, process in self.processes.items() if unit != but)

    def lose(self, unit: str) -> None:
        """A process ends, and nobody starts it again."""
        self.processes.pop(unit)

    # what the calls do to it
    def put(self, path: str, text: str, mode: int, owner: str) -> bool:
        there = self.files.get(path)
        file = Lying(text, mode, owner, self.world.now)
        if there and (there.sha256, there.mode, there.owner) == (file.sha256, mode, owner):
            return False
        self.files[path] = file
        self._touched(path)
        return True

    def remove(self, path: str) -> bool:
        self._touched(path)
        return self.files.pop(path, None) is not None

    def _touched(self, path: str) -> None:
        if path.startswith(UNITS):
            name = path.removeprefix(UNITS).split("/")[0].removesuffix(".d")
            self.needs_reload.add(name)

    def text(self, path: object) -> str | None:
        file = self.files.get(str(path))
        return file.text if file else None

    def state(self, unit: str) -> str:
        process = self.processes.get(unit)
        if process is None:
            return "inactive"
        if unit in self.stopping:
            return "deactivating"
        if unit == TARGET and self._boots():  # its start waits for those of what it wants
            return "inactive"
        if process.digest in self.world.broken:
            return "failed" if self.world.now > process.started + 5 else "activating"
        ready = engines.ready(self, unit) if engines.engine(unit) else process.started
        return "active" if ready is not None and self.world.now >= ready else "activating"

    def _boots(self) -> bool:
        """Whether an engine that the boot has started still loads."""
        loading = (name for name in self.booting if self.state(name) == "activating")
        return any(self.processes[name].invocation == self.booting[name] for name in loading)

    def start(self, unit: str) -> None:
        text = self.text(UNITS + unit)
        if text is None:
            raise BoxError(f"{self.name}: systemctl start: Unit {unit} not found.")
        if engines.engine(unit) and (not engines.admitted(self, unit) or engines.kept_down(self, unit)):
            return  # skipped, which is no failure
        found = re.search(r"FLOOR_LAUNCH=([0-9a-f]+)", text)
        digest = found.group(1) if found else Launch(argv=()).digest
        launch = self.world.launches.get(digest, Launch(()))
        image = (self.images.get(launch.image, "sha256:1") or "") if launch.image else ""
        self.starts.append(unit)
        self.load(unit)
        if unit in self.stopping:
            self.world.wrong.append(f"{self.name}: {unit} is started while its former process is still there")
        before, self.processes[unit] = (
            self.memory_used(unit),
            Process(
                started=self.world.now,
                digest=digest,
                invocation=f"{self.name}-{len(self.starts)}",
                argv=launch.argv,
                image=image,
                key=self.keyring.starting(self) if engines.engine(unit) else self.keyring.engine(self)[0],
                following=self.keyring.engine(self)[1],
                settings=settings(self.text(paths.POOL_SETTINGS)),
                pid=1000 + len(self.starts),
            ),
        )
        others = [other for other in self.processes if engines.engine(other) and other != unit]
        if engines.engine(unit) and engines.model(unit) in map(engines.model, others):
            self.world.wrong.append(f"{self.name}: {unit} is started beside {', '.join(others)}")
        if before + self.processes[unit].share > 1.0:
            self.world.wrong.append(f"{self.name}: {unit} is started with {before:.0%} of the memory taken")

    def load(self, unit: str) -> None:
        """The firewall's unit was started, or told to read its file again."""
        if unit == firewall.UNIT:
            self.rules = self.text(paths.FIREWALL)
        if unit == keepalived.UNIT:
            self.read = self.text(paths.KEEPALIVED_CONF)

    def admits(self, sender: SimulatedBox, port: int) -> bool:
        """Whether what `sender` begins reaches an engine's port here."""
        if sender is self or self.rules is None:
            return True
        ports, addresses = engine_rules(self.rules)
        return port not in ports or sender.address in addresses

    def live_drains(self) -> dict[str, list[str]]:
        """The holders that count now, by backend."""
        if not any(self.recorded.values()):
            return {}
        epoch = self.record["epoch"] if self.record and lease.live(self.record, self.moment()) else None
        return {name: list(held) for name, held in drains.held_by(drains.live(self.recorded, epoch)).items()}

    def changeable(self) -> object:
        """All of this box that a call may change, to be compared; what time does by itself is left out."""
        drains = {backend: held for backend, held in self.recorded.items() if held}
        files = {path: file.sha256 for path, file in self.files.items()}
        record = self.record and (self.record["epoch"], self.record["state"])
        begun = [(unit, unit in self.stopping) for unit in self.processes]
        return drains, files, record, len(self.starts), begun, set(self.enabled), self.secrets, list(self.configs)

    def moment(self) -> lease.Now:
        return lease.Now(self.boot, self.world.now, self.world.now - self.booted)

    # the transport
    def call(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: float = 30, payload: bytes | None = None
    ) -> Any:
        if not self.up:
            self.world.sleep(1.0)
            raise UnreachableError(f"{self.name}: no way there")
        if self.refuses is not None:
            raise self.refuses
        given = dict(params or {})
        return self.world.tick(self.name, name, given, lambda: self._answer(name, given))

    def _answer(self, name: str, params: dict[str, Any]) -> Any:
        if not self.up:
            raise UnreachableError(f"{self.name}: lost on the way")
        return self.calls.answer(name, params)

    def stream(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        if not self.up:
            raise UnreachableError(f"{self.name}: no way there")
        self.world.log.append(f"{self.name} {name} {params}")
        yield from self.journal
