"""Watchdog and guard on real boxes: what hangs is started again, what conflicts is named, and a hog is survived."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, fault, invocations, pool, set_up, until
from tests.lab.floor import Floor
from tests.lab.sites import site
from tests.lab.waiting import wait_for

GIB = 1 << 30
STALL, EVERY, LOOK = 20.0, 30.0, 9.0  # health.stall of the site, the timer, the longest look
FOREIGN = f"""[Unit]
Description=somebody's own vLLM
Conflicts={UNIT}
[Service]
ExecStart=/bin/sleep 100000
"""
# Takes a part of a GiB at a time, up to a cap: the machine that the boxes are on must live.
HOG = """import sys, time
kept = []
for _ in range(int(sys.argv[1])):
    kept.append(bytearray(b"x" * (1 << 28)))
    time.sleep(0.15)
time.sleep(1000)
"""


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, with somebody to tell, once for this module."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(site(clean_lab, load_time=1) + "notify: {command: [/usr/bin/tee, -a, /var/lib/told]}\n")
    set_up(clean_lab, floor)
    floor("deploy", "--mode", "replicas")
    return floor


def told(box: Box) -> list[dict[str, Any]]:
    """What a person was told by a box."""
    lines = box.run(["cat", "/var/lib/told"], check=False).stdout.splitlines()
    return [json.loads(line) for line in lines]


def said(box: Box, who: str) -> list[str]:
    lines = box.run(["cat", "/var/lib/floor/events.jsonl"]).stdout.splitlines()
    return [event["text"] for event in map(json.loads, lines) if event["who"] == who]


def share(box: Box, unit: str, seconds: float) -> float:
    """The share of a core that a unit's main process takes over some seconds."""
    pid = box.pid(unit)

    def ticks() -> int:
        fields = box.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / 100 / seconds


def test_a_second_deployment_has_nothing_to_do(floor: Floor) -> None:
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_at_rest_the_guard_takes_less_than_a_hundredth_of_a_core(floor: Floor) -> None:
    box = floor.lab.boxes["boxa"]
    taken = share(box, "floor-guard.service", 20)
    print(f"the guard takes {taken:.2%} of a core")
    assert taken < 0.02
    # What systemd was told: boxes that are containers may not have the right to it.
    shown = box.run(["systemctl", "show", "-p", "OOMScoreAdjust,LimitMEMLOCK", "floor-guard.service"]).stdout
    assert {"OOMScoreAdjust=-1000", "LimitMEMLOCK=infinity"} == set(shown.split())


def test_a_copy_that_hangs_is_started_again_by_its_box(floor: Floor) -> None:
    """Three looks and the stall limit, whatever comes later, and the timer's own interval."""
    box = floor.lab.boxes["boxb"]
    before = invocations(floor.lab)["boxb"][UNIT]
    fault(box, fault="hang")
    limit = max(STALL, 3 * (EVERY + LOOK)) + EVERY + 2 * LOOK
    took = until(
        "the copy is another process", lambda: invocations(floor.lab)["boxb"].get(UNIT) != before, 2 * limit, 1
    )
    back = until("it is in the pool again", lambda: "flagship@boxb" in pool(floor.lab), 60, 0.5)
    print(f"started again after {took:.0f} s (stated: {limit:.0f}), in the pool {back:.0f} s later")
    acts = [text for text in said(box, "watchdog") if text.startswith("flagship@boxb: restart: stands still")]
    assert len(acts) == 1
    until("the next round finds it well", lambda: floor("watchdog").stdout.count("ok: generates") == 2, 120, 5)


def test_a_foreign_unit_that_conflicts_is_named_and_not_fought(floor: Floor) -> None:
    """The story's trap: starting ours would stop what serves instead of it."""
    box = floor.lab.boxes["boxb"]
    box.put("/etc/systemd/system/vllm-split.service", FOREIGN)
    box.run(["systemctl", "daemon-reload"])
    box.run(["systemctl", "start", "vllm-split.service"])
    until(
        "ours is stopped by it",
        lambda: box.run(["systemctl", "is-active", UNIT], check=False).stdout.strip() == "inactive",
        60,
    )
    dry = floor("watchdog", "--once", "--dry-run")
    assert "flagship@boxb: declined: vllm-split.service (active) conflicts with it" in dry.stdout
    floor("watchdog", "--once")
    until("a person is told", lambda: any("vllm-split.service" in one["text"] for one in told(box)), 60, 1)
    assert box.run(["systemctl", "is-active", "vllm-split.service"]).stdout.strip() == "active"
    box.run(["systemctl", "stop", "vllm-split.service"])
    box.run(["rm", "/etc/systemd/system/vllm-split.service"])
    box.run(["systemctl", "daemon-reload"])
    floor("deploy")
    assert "flagship@boxb" in pool(floor.lab)


def test_a_copy_that_systemd_gave_up_is_started_again(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    pid = box.pid(UNIT)
    box.run(["mkdir", "-p", f"/run/systemd/system/{UNIT}.d"])
    box.put(f"/run/systemd/system/{UNIT}.d/no.conf", "[Service]\nRestart=no\n")
    box.run(["systemctl", "daemon-reload"])
    box.run(["kill", "-9", str(pid)])
    until("it is failed", lambda: box.run(["systemctl", "is-failed", UNIT], check=False).stdout.strip() == "failed", 30)
    box.run(["rm", "-r", f"/run/systemd/system/{UNIT}.d"])
    box.run(["systemctl", "daemon-reload"])
    floor("watchdog", "--once")
    wait_for("it serves again", lambda: "flagship@boxb" in pool(floor.lab), 60)
    assert any("start: failed" in text for text in said(box, "watchdog"))


def test_a_memory_hog_is_survived(floor: Floor) -> None:
    """The floor lies a little below what is available now, on one box alone: both share this machine's memory."""
    lab, box = floor.lab, floor.lab.boxes["boxb"]
    available = (
        int(next(line for line in box.read("/proc/meminfo").splitlines() if "MemAvailable" in line).split()[1]) << 10
    )
    names = ", ".join(lab.boxes)
    floor.edit(f"replicas: [{names}]", "replicas: [boxb]")
    floor.edit(
        f"boxb: {{host: {box.address}}}", f"boxb: {{host: {box.address}, keep_free: {(available - 2 * GIB) >> 20}MiB}}"
    )
    floor.config.write_text(floor.config.read_text() + f"guard: {{floor: {(available - 3 * GIB) >> 20}MiB}}\n")
    floor("deploy")
    assert chat(lab)[0] == 200
    box.put("/srv/hog.py", HOG)
    began = time.monotonic()
    box.run(["systemd-run", "--unit=hog", "--property=OOMScoreAdjust=1000", "/usr/bin/python3", "/srv/hog.py", "18"])
    down = until(
        "the engine is taken down", lambda: any("took flagship@boxb down" in text for text in said(box, "guard")), 60
    )
    print(f"taken down {down:.1f} s after the hog began: {said(box, 'guard')[-1]}")
    until("it is skipped, not started", lambda: _unit(box)["Result"] == "exec-condition", 60, 0.5)
    box.run(["systemctl", "stop", "hog"])
    status = floor("guard", "status").stdout
    assert f"! {UNIT} is kept down, until there is room for it" in status
    refused = floor("deploy", code=5)
    assert "the guard keeps it down, until there is room for it again" in refused.stderr
    floor("guard", "release", "flagship@boxb")
    floor("deploy")
    assert chat(lab)[0] == 200
    assert any(one["key"] == f"hold {UNIT}" for one in told(box))
    print(f"all of it took {time.monotonic() - began:.0f} s")


def _unit(box: Box) -> dict[str, str]:
    shown = box.run(["systemctl", "show", "-p", "ActiveState,Result", UNIT]).stdout
    return dict(line.split("=", 1) for line in shown.split())
