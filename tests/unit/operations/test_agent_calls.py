"""Every call that operations send is one that the real agent knows, with parameters that it takes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from floor.agent.call import Call
from floor.agent.calls.engine import targets
from floor.agent.params import Params
from floor.agent.registry import CALLS, find, names
from floor.box import secrets
from floor.box.command import Result
from floor.box.locked import mine
from floor.errors import FloorError, UsageError
from floor.operations import calibrate, checks, clients, drain, guard, key, logs, metrics, removal, watchdog
from floor.operations.status import status
from floor.operations.swap_edit import Wish
from tests.simulated.situation import SPLIT, THREE_BOXES, Situation

ELSEWHERE = {
    "pool.direct",
    "release.install",
    "logs",
    "launch.check",
    "launch.trial",
    "operation.renew",
}  # have their own
ELSEWHERE |= {"live.follow", "bench.level"}  # streams
ELSEWHERE |= {f"fetch.{verb}" for verb in CALLS["fetch"]}
ELSEWHERE |= {f"fabric.{verb}" for verb in CALLS["fabric"]}
ELSEWHERE |= {f"foreign.{verb}" for verb in CALLS["foreign"]}
NETWORK = {"interface": "eth0", "address": "192.0.2.11", "prefix": 24}


@pytest.fixture
def sent(situation: Situation) -> dict[tuple[str, tuple[str, ...]], dict[str, Any]]:
    """One example of each call and each set of parameters that all verbs together have sent."""
    situation.text = SPLIT
    situation.deploy()
    for mode in ("split", "replicas", "split"):
        situation.switch(mode)
    begin = situation.text.index("    split:")
    situation.text = situation.text[:begin] + situation.text[situation.text.index("\n", begin) + 1 :]
    situation.deploy_all(force=True)
    for box in situation.world.boxes.values():
        box.edit("/etc/floor/mode", "replicas\n")
    situation.text = THREE_BOXES
    situation.deploy()
    _swap(situation)
    situation.restart()
    situation.edit("proxy: {boxes", "proxy: {clients: [alice, ci], boxes")
    situation.deploy()
    for name in ("alice", "engine"):
        key.rotate(situation.site(), name, print, print)
    key.retire(situation.site(), "alice", print, print)
    key.rotate(situation.site(), "ci", print, print, seconds=3600)
    key.show(situation.site(), "alice")
    situation.edit("clients: [alice, ci], ", "")
    situation.deploy()
    situation.reboot("spark-b")
    situation.edit("replicas: [spark-a, spark-b]", "replicas: [spark-a, {box: spark-c, port: 8005}]")
    situation.edit("proxy: {boxes: [spark-a, spark-b]}", "proxy: {boxes: [spark-a]}")
    situation.box("spark-a").edit("/etc/floor/nginx/nginx.conf", "by hand")
    situation.deploy()
    site = situation.site()
    drain.drain(site, drain.find(site, "spark-c"), print, last=False)
    drain.undrain(site, drain.find(site, "spark-c"), print)
    situation.box("spark-c").logged = {"available": 8.0}
    calibrate.calibrate(site, copy := calibrate.find(site, "spark-c"), calibrate.works(copy), print, print, force=False)
    situation.box("spark-c").up = False
    situation.deploy()
    situation.box("spark-c").up = True
    situation.deploy()
    situation.box("spark-a").left["floor-copy-flagship.service"] = [7]
    situation.restart("spark-a")
    checks.verify(site)
    situation.box("spark-a").facts |= {"keepalived": True, "networks": [NETWORK]}
    situation.edit("proxy: {boxes: [spark-a]}", "proxy: {boxes: [spark-a], address: 192.0.2.10}")
    situation.deploy()
    situation.edit("    utilization: 0.4\n", "    utilization: 0.4\n    task: embed\n")
    checks.verify(situation.site())
    checks.verdicts(site)
    status(site)
    logs.events(site, 3)
    situation.box("spark-a").holds = {"floor-copy-flagship.service": {}}
    guard.status(site)
    guard.release(site, "flagship@spark-a", print)
    watchdog.look(site, once=False, dry_run=False)
    watchdog.look(site, once=True, dry_run=True)
    metrics.metrics(site, 1.0)
    clients.clients(site)
    removal.remove(
        site, "spark-c", print, print, bool, yes=True, purge=False, force=False, take_off=lambda *_a, **_k: True
    )
    return situation.world.sent


def _swap(situation: Situation) -> None:
    """Both copies are left open by their tests; a person takes the first and not the second."""
    wish = Wish(args=["tool-call-parser=hermes"])
    stages = situation.swap("flagship", wish, dry_run=True).plan.stages
    tested = [step.params["launch"] for stage in stages for step in stage.steps if step.call == "tooltest.run"]
    situation.world.verdicts = dict.fromkeys(tested, "HOLD")
    situation.answers = [True, False]
    with pytest.raises(FloorError, match="flagship@spark-b: HOLD"):
        situation.swap("flagship", wish)


def test_the_real_agent_takes_them_all(sent: dict[tuple[str, tuple[str, ...]], dict[str, Any]], tmp_path: Path) -> None:
    """Run against an empty folder: what it finds there does not matter, only that it does not call it a wrong use."""
    assert {name for name, _ in sent} >= set(names()) - ELSEWHERE
    secrets.put("the-engine-key-of-all", "the-status-key-of-all", tmp_path, mine())
    for (name, _), params in sorted(sent.items()):
        call = _call(name, params, tmp_path)
        if name.startswith("engine.") or name == "calibrate.measure":
            targets(call)  # what follows asks the network
        elif name.startswith("verify."):
            assert (call.params.whole("port", 1), call.params.text("model")) == (8080, "flagship")
        else:
            _run(name, call)


def _run(name: str, call: Call) -> None:
    by = {"user": "ada", "host": "laptop", "pid": 1, "started": 1.0}
    given = call.params.values.get("epoch")
    if given is not None and name != "operation.take":
        before = call.operation.read()
        epoch = (before["epoch"] if before else 0) + 1
        wanted = {"epoch": epoch, "verb": "deploy", "by": by, "takeover": before["epoch"] if before else None}
        call.operation.take({**wanted, "lease": 90.0})
        call.params = Params(name, {**call.params.values, "epoch": epoch})
    try:
        find(name)(call)
    except UsageError:
        raise
    except (FloorError, FileNotFoundError):  # an empty folder is no box
        return


def _call(name: str, params: dict[str, Any], root: Path) -> Call:
    passed = iter(range(10**9))
    return Call(
        Params(name, {**params, "timeout": 0} if "timeout" in params else params),
        root=root,
        stdin=io.BytesIO(),
        run=lambda *_given, **_named: Result(1, "", "this is a test"),
        clock=lambda: float(next(passed)) * 30,
        sleep=lambda _: None,
    )
