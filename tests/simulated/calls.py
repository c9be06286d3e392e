"""The agent's calls on a simulated box: the real rules of leases and drains, everything else in a few words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from floor.box import drains, lease, paths
from floor.box.drains import Drain
from floor.desired import firewall
from floor.errors import BoxError, RefusedError
from floor.tooltest.report.result import Result
from tests.simulated import engines, others
from tests.simulated.keyring import OWN
from tests.simulated.look import observe, unit

if TYPE_CHECKING:
    from tests.simulated.box import SimulatedBox

KEYS = ("engine.key", "engine.env", "engine-key.conf", "status.key")
POLL = 1.0
TEST_SECONDS = 5.0  # that a tool test takes
BASELINE = json.dumps(Result({}, "gate", 1, {}, "", 0.0, 0.0, [], []).document())


class Calls:
    """Answers calls of one box by their names."""

    def __init__(self, box: SimulatedBox) -> None:
        self._box = box

    def answer(self, name: str, params: dict[str, Any]) -> Any:
        if params.get("epoch") is not None and name != "operation.take":
            now = self._box.moment()
            self._box.record = lease.renewed(lease.held(self._box.record, params["epoch"], now), now)
        if told := params.get("event"):
            self._box.events.append({"at": self._box.world.now, "box": self._box.name, "who": "floor", **told})
        return getattr(self, name.replace(".", "_"))(params)

    def _until(self, params: dict[str, Any], look: Callable[[], tuple[bool, Any]]) -> Any:
        ends = self._box.world.now + params.get("timeout", 25)
        while True:
            over, seen = look()
            if over or self._box.world.now >= ends:
                return seen
            self._box.world.sleep(POLL)

    def observe(self, params: dict[str, Any]) -> Any:
        return observe(self._box, params)

    def metrics_read(self, params: dict[str, Any]) -> Any:
        return {"seconds": params["seconds"], "models": {}, "copies": []}

    def connections_look(self, params: dict[str, Any]) -> Any:
        return self._box.connections

    def operation_take(self, params: dict[str, Any]) -> Any:
        self._box.record = lease.take(self._box.record, params, self._box.moment())
        return self._box.record

    def operation_renew(self, params: dict[str, Any]) -> Any:
        return self._box.record

    def operation_release(self, params: dict[str, Any]) -> Any:
        self._box.record = lease.ended(self._box.record or {}, params["state"])
        return self._box.record

    def box_reboot(self, params: dict[str, Any]) -> Any:
        present = self._box.boot
        if params["boot"] == present:
            self._box.record = lease.rebooting(self._box.record or {}, self._box.moment())
            self._box.reboot()
        return {"boot": present}

    def box_back(self, params: dict[str, Any]) -> Any:
        return self._until(params, lambda: ((b := self._box.boot) != params["boot"], {"back": b != params["boot"]}))

    def group_leave(self, params: dict[str, Any]) -> Any:
        process = self._box.processes.get(f"{engines.GROUP}{params['model']}.service")
        if process is not None and not process.waits:
            process.leaves = params["leaves"]
        return {}

    def guard_state(self, params: dict[str, Any]) -> Any:
        age = self._box.guard_age if self._box.guard else None
        mode = (self._box.text(str(paths.MODE)) or "").strip() or None
        known = {"holds": dict(self._box.holds), "calibrated": self._box.calibrations}
        return {"state": self._box.guard, "age": age, "unit": self._box.guard_runs, "mode": mode, **known}

    def guard_release(self, params: dict[str, Any]) -> Any:
        return {"released": self._box.holds.pop(params["unit"], None) is not None}

    def watchdog_last(self, params: dict[str, Any]) -> Any:
        return {"at": 1.0, "decisions": self._box.watchdog, "foreign": list(self._box.foreign_lines)}

    def watchdog_round(self, params: dict[str, Any]) -> Any:
        return {"at": 1.0, "decisions": self._box.watchdog, "foreign": list(self._box.foreign_lines)}

    def config_put(self, params: dict[str, Any]) -> Any:
        digest = hashlib.sha256(params["text"].encode()).hexdigest()
        self._box.config = params["text"]
        self._box.configs = [*(one for one in self._box.configs if one != digest), digest]
        return {"sha256": digest}

    def files_put(self, params: dict[str, Any]) -> Any:
        put = self._box.put
        return {"changed": [f["path"] for f in params["files"] if put(f["path"], f["text"], f["mode"], f["owner"])]}

    def mode_put(self, params: dict[str, Any]) -> Any:
        for name in params["down"]:
            if name in self._box.processes or name in self._box.left:
                raise BoxError(f"{self._box.name}: {name} runs again, so the mode stays; run the same command again")
        self._box.put("/etc/floor/mode", f"{params['mode']}\n", 0o644, "root:root")
        return {}

    def files_remove(self, params: dict[str, Any]) -> Any:
        return {"changed": [path for path in params["paths"] if self._box.remove(path)]}

    def nginx_test(self, params: dict[str, Any]) -> Any:
        return {"ok": not self._box.nginx_says, "output": self._box.nginx_says}

    def address_look(self, _params: dict[str, Any]) -> Any:
        return {"strangers": self._box.strangers}

    def foreign_look(self, params: dict[str, Any]) -> Any:
        copies = [name.removesuffix(".service") for name in self._box.processes if engines.engine(name)]
        return others.look(self._box.others, copies)

    def foreign_disable(self, params: dict[str, Any]) -> Any:
        for one in self._other(params):
            one.enabled, one.policy = False, "no"
        return {}

    def foreign_stop(self, params: dict[str, Any]) -> Any:
        self.foreign_disable(params)
        world = self._box.world
        for one in self._other(params):
            backend = f"{one.served}@{self._box.name}"
            if one.engine and one.running and any(box.pools.busy(backend) for box in world.boxes.values()):
                world.cut.append(backend)
            one.running = False
        return {"stopped": True, "left": []}

    def _other(self, params: dict[str, Any]) -> list[others.Other]:
        found = [(100 + number, one) for number, one in enumerate(self._box.others)]
        return [one for pid, one in found if params["name"] in (one.name, str(pid))]

    def launch_check(self, params: dict[str, Any]) -> Any:
        return {"problems": [f"user {params['user']} cannot read {params['source']}"] if self._box.unreadable else []}

    def launch_trial(self, params: dict[str, Any]) -> Any:
        said = self._box.trial_says
        return {"code": 2 if said else 0, "out": "", "err": said, "skipped": "", "late": False}

    def fabric_look(self, params: dict[str, Any]) -> Any:
        own = f"198.51.100.{int(self._box.address.rpartition('.')[2] or 11) - 10}/24"
        return {
            "link": {"there": True, "up": True, "mtu": 9000, "addresses": [own], "others": []},
            "devices": {},
            "version": "0.32.0",
            "weights": {"digest": None, "files": {"config.json": 2}, "small": {}, "config": {}},
            **self._box.build,
        }

    def fabric_meet(self, params: dict[str, Any]) -> Any:
        ways = {str(port): "no answer" if self._box.cut_off else "" for port in params["ports"]}
        return {"reached": dict.fromkeys(params["peers"], ways), "heard": params["peers"], "held": {}}

    def units_reload(self, params: dict[str, Any]) -> Any:
        self._box.needs_reload.clear()
        return {}

    def unit_enable(self, params: dict[str, Any]) -> Any:
        self._box.enabled.add(params["unit"])
        return {}

    def unit_disable(self, params: dict[str, Any]) -> Any:
        self._box.enabled.discard(params["unit"])
        return {}

    def unit_start(self, params: dict[str, Any]) -> Any:
        if why := engines.kept_down(self._box, params["unit"]):
            raise RefusedError(f"{self._box.name}: {params['unit']}: {why}")
        if self._box.state(params["unit"]) not in ("active", "activating"):
            self._box.start(params["unit"])
        return {}

    def unit_restart(self, params: dict[str, Any]) -> Any:
        self._box.start(params["unit"])
        return {}

    def unit_reload(self, params: dict[str, Any]) -> Any:
        process = self._box.processes[params["unit"]]
        self._box.load(params["unit"])
        process.started = self._box.world.now
        process.key, process.following = self._box.keyring.engine(self._box)
        return {}

    def unit_stop(self, params: dict[str, Any]) -> Any:
        name = params["unit"]
        world = self._box.world
        if name in self._box.left:
            world.sleep(params.get("timeout", 25))
            return {"stopped": False, "left": self._box.left[name], "active": "inactive"}
        if engines.engine(name) and self._box.state(name) == "active":
            backend = engines.backend(self._box, name)
            if any(box.pools.busy(backend) for box in world.boxes.values()):
                world.cut.append(backend)
        self._box.stop(name)
        if name == firewall.UNIT:
            self._box.rules = None
        self._until(params, lambda: (name not in self._box.processes, None))
        gone = name not in self._box.processes
        return {
            "stopped": gone,
            "left": [] if gone else [self._box.processes[name].pid],
            "active": self._box.state(name),
        }

    def unit_kill(self, params: dict[str, Any]) -> Any:
        self._box.stopping[params["unit"]] = self._box.world.now
        self._box.pass_time()
        self._box.left.pop(params["unit"], None)
        return {"left": []}

    def unit_wait(self, params: dict[str, Any]) -> Any:
        name = params["unit"]

        def look() -> tuple[bool, Any]:
            state = self._box.state(name)
            return state in (params["until"], "failed"), state

        self._until(params, look)
        return {**unit(self._box, name), "log": "loading", "result": "exit-code"}

    def drain_add(self, params: dict[str, Any]) -> Any:
        backend, taken = params["backend"], set(self._box.live_drains())
        for model, members in self._box.pools.members.items():
            if not params.get("last") and backend in members and not set(members) - taken - {backend}:
                raise RefusedError(f"{self._box.name}: {backend} is the only member of {model}'s pool")
        drain = Drain(params["holder"], _holding(params), 0.0)
        if drain.epoch is not None:
            for name, held in self._box.recorded.items():
                self._box.recorded[name] = tuple(d for d in held if d.epoch is None or d.epoch >= drain.epoch)
        others = tuple(d for d in self._box.recorded.get(backend, ()) if d != drain)
        self._box.recorded[backend] = (*others, drain)
        return {"holders": list(drains.held_by(self._box.recorded)[backend])}

    def drain_remove(self, params: dict[str, Any]) -> Any:
        gone = Drain(params["holder"], _holding(params), 0.0)
        held = self._box.recorded.get(params["backend"], ())
        self._box.recorded[params["backend"]] = tuple(drain for drain in held if drain != gone)
        return {}

    def pool_wait(self, params: dict[str, Any]) -> Any:
        def look() -> tuple[bool, Any]:
            there = params["backend"] in self._box.pools.members.get(params["model"], ())
            reached = there == params["member"]
            return reached, {"reached": reached, "reason": "" if reached else "as a test wants it", "state": {}}

        return self._until(params, look)

    def engine_check(self, params: dict[str, Any]) -> Any:
        name, box = params["backend"], self._box.world.boxes.get(params["backend"].split("@")[1].split("+")[0])
        fine = box is not None and box.up and box.state(engines.unit_of(name)) == "active"
        state, reason = ("OK", "ok") if fine else ("CRITICAL", "refused")
        return {"backend": name, "url": params["url"], "state": state, "reason": reason, "evidence": f"it is {reason}"}

    def engine_idle(self, params: dict[str, Any]) -> Any:
        old = any(one.running and params["url"].endswith(f":{one.port}") for one in self._box.others)
        process = self._box.processes.get(engines.unit_of(params["backend"]))
        if not old and (process is None or not params["url"].endswith(f":{process.port}")):
            return {"idle": True, "running": None, "waiting": None, "reason": "nothing answers there"}

        def look() -> tuple[bool, Any]:
            idle = not any(box.pools.busy(params["backend"]) for box in self._box.world.boxes.values())
            return idle, {"idle": idle, "running": 0 if idle else 3, "waiting": 0, "reason": ""}

        return self._until(params, look)

    def memory_wait(self, params: dict[str, Any]) -> Any:
        share = params.get("fraction") or 0.0

        def look() -> tuple[bool, Any]:
            fits = not self._box.full and self._box.memory_used() + share <= 1.0
            return fits, {"fits": fits, "needed": 50 << 30, "available": (100 if fits else 1) << 30}

        return self._until(params, look)

    def secrets_ensure(self, params: dict[str, Any]) -> Any:
        if self._box.secrets is None:
            self._box.secrets = (f"the-engine-key-of-{self._box.name}-{self._box.world.now:.0f}", self._box.world.now)
        ring = self._box.keyring
        ring.complete = True
        return {"engine": self._box.secrets[0], "status": ring.status, "next": dict(ring.following)}

    def secrets_put(self, params: dict[str, Any]) -> Any:
        if self._box.secrets is None or self._box.secrets[0] != params["engine"]:
            self._box.secrets = (params["engine"], self._box.world.now)
        self._box.keyring.status, self._box.keyring.complete = params["status"], True
        self._box.keyring.follow(self._box, params.get("next") or {})
        return {}

    def secrets_begin(self, params: dict[str, Any]) -> Any:
        ring, kind = self._box.keyring, params["kind"]
        ring.follow(self._box, {kind: ring.make(self._box, f"next-{kind}-key"), **ring.following})
        return {}

    def secrets_promote(self, params: dict[str, Any]) -> Any:
        self._box.keyring.promote(self._box)
        return {}

    def secrets_show(self, params: dict[str, Any]) -> Any:
        present, following = self._box.keyring.engine(self._box)
        own = [key for key in (following, present) if key]
        return {"keys": own if params["name"] == "engine" else self._box.keyring.clients[params["name"]]}

    def layout_look(self, params: dict[str, Any]) -> Any:
        read = {
            source: self._box.headers.get(source, {"error": f"{source}: not there"}) for source in params["sources"]
        }
        memory = self._box.facts["memory"]
        return {"memory": memory, "gpus": [], "sources": read, "starts": {}, "others": None, "logged": {}}

    def calibrate_look(self, params: dict[str, Any]) -> Any:
        return {"launch": self._box.processes[params["unit"]].digest, "start": self._box.logged}

    def calibrate_measure(self, params: dict[str, Any]) -> Any:
        """A step takes 20 ms, 2 for each request, and 1 ms for every 1000 tokens before each."""
        backend, many, prompt, answer = (params[key] for key in ("backend", "at_once", "prompt", "answer"))
        if any(box.pools.busy(backend) for box in self._box.world.boxes.values()):
            self._box.world.wrong.append(f"{backend} was measured while clients had it")
        step = 0.02 + 0.002 * many + 1e-6 * many * (prompt + answer / 2)
        self._box.world.sleep(prompt / 1000 + answer * step)
        return {"prompt": prompt, "answer": answer, "first": many * prompt / 1000, "speed": many / step}

    def calibrate_keep(self, params: dict[str, Any]) -> Any:
        self._box.calibrations[params["backend"]] = params["figures"]
        return {}

    def clients_ensure(self, params: dict[str, Any]) -> Any:
        ring = self._box.keyring
        names = [*params["names"], OWN] if params["names"] else []
        clients = {name: ring.clients.get(name) or [ring.make(self._box, f"key-of-{name}")] for name in names}
        ring.put_clients(self._box, clients)
        return {}

    def clients_read(self, params: dict[str, Any]) -> Any:
        return {"clients": self._box.keyring.clients}

    def clients_put(self, params: dict[str, Any]) -> Any:
        own = self._box.keyring.clients if params["missing"] else {}
        self._box.keyring.put_clients(self._box, {**params["clients"], **own})
        return {}

    def clients_rotate(self, params: dict[str, Any]) -> Any:
        ring, name = self._box.keyring, params["name"]
        keys = ring.clients[name]
        if len(keys) == 1:
            keys = [ring.make(self._box, f"key-of-{name}"), *keys]
        ring.put_clients(self._box, {**ring.clients, name: keys})
        return {}

    def clients_retire(self, params: dict[str, Any]) -> Any:
        ring, name = self._box.keyring, params["name"]
        ring.put_clients(self._box, {**ring.clients, name: ring.clients[name][:1]})
        return {}

    def pool_announce(self, params: dict[str, Any]) -> Any:
        self._box.announced = {"epoch": params["epoch"], "mode": params["mode"], "models": params["models"]}
        return {}

    def pool_direct(self, params: dict[str, Any]) -> Any:
        return self._until(params, lambda: (not (ways := self._box.pools.ways), {"reached": not ways}))

    def tooltest_run(self, params: dict[str, Any]) -> Any:
        box, unit = self._box, params["unit"]
        if box.state(unit) != "active":
            return {"over": True, "word": ""}
        box.world.sleep(min(TEST_SECONDS, params["timeout"]))
        if not box.up or box.state(unit) != "active":
            return {"over": True, "word": ""}
        if params["tier"] == "baseline":
            box.baselines.setdefault(params["model"], {})[params["name"]] = BASELINE
            return {"over": True, "word": "DONE"}
        process = box.processes[unit]
        word = box.world.verdicts.get(process.digest, "PASS")
        if params["against"] is None:
            word = "HOLD"
        elif params["against"] not in box.baselines.get(params["model"], {}):
            raise BoxError(f"{box.name}: there is no baseline {params['against']}")
        told = {name: params[name] for name in ("launch", "tier", "against", "backend", "build")}
        box.tests[unit] = {
            **told,
            "invocation": process.invocation,
            "word": word,
            "reasons": [f"as a test wants {word}"],
        }
        if word == "PASS":
            box.world.banned -= {(params["backend"], process.digest)}
        return {"over": True, "word": word}

    def tooltest_accept(self, params: dict[str, Any]) -> Any:
        told = self._box.tests[params["unit"]]
        told["accepted"] = params["by"]
        self._box.world.banned -= {(told["backend"], told["launch"])}
        return {}

    def tooltest_page(self, params: dict[str, Any]) -> Any:
        return {"page": f"# what was found of {params['unit']}\n"}

    def tooltest_read(self, params: dict[str, Any]) -> Any:
        return {"text": self._box.baselines[params["model"]][params["name"]]}

    def tooltest_put(self, params: dict[str, Any]) -> Any:
        self._box.baselines.setdefault(params["model"], {})[params["name"]] = params["text"]
        return {}

    def fetch_look(self, params: dict[str, Any]) -> Any:
        return {"folders": {folder: {"bytes": self._box.sizes.get(folder, 0)} for folder in params["folders"]}}

    def events_read(self, params: dict[str, Any]) -> Any:
        return self._box.events[-params["lines"] :]

    def release_install(self, params: dict[str, Any]) -> Any:
        if self._box.record and lease.live(self._box.record, self._box.moment()):
            raise lease.HeldError(f"{self._box.name}: held by {lease.words(self._box.record)}", self._box.record)
        self._box.release = params["release"]
        return {"release": params["release"], "changed": True}

    def verify_chat(self, params: dict[str, Any]) -> Any:
        served = self._box.world.answering(self._box.name, params["model"])
        if not self._box.up:
            raise BoxError("unreachable")
        events = 3 if params["stream"] else 1
        if served:
            return {"status": 200, "events": events, "seconds": 0.1, "error": None, "text": "Hello."}
        return {"status": 503, "events": 0, "seconds": 0.1, "error": "not an answer", "text": ""}

    def verify_embed(self, params: dict[str, Any]) -> Any:
        served = self._box.world.answering(self._box.name, params["model"])
        if not self._box.up:
            raise BoxError("unreachable")
        return {"status": 200 if served else 503, "events": 1 if served else 0, "seconds": 0.1, "error": None}


def _holding(params: dict[str, Any]) -> int | None:
    return None if params.get("outlives") else params["epoch"]
