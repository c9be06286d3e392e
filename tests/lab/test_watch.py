"""Watchdog and guard on real boxes: what hangs is started again, what conflicts is named, and a hog is survived."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.lab import unified
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, deployed, fault, invocations, pool, until
from tests.lab.floor import Floor
from tests.lab.sites import site

STALL, EVERY, LOOK = 20.0, 5.0, 9.0  # health.stall of the site, the timer's interval here, the longest look
# An empty word takes all times of a timer away, whichever line it stands in (systemd.timer(5)).
OFTEN = f"[Timer]\nOnActiveSec=\nOnActiveSec={EVERY}\nOnUnitInactiveSec={EVERY}\n"
# The second box is to look like one of 121.7 GiB: a share of 85.2, of which 81 are weights and cache.
WELL = "utilization: 0.7, args: {sim-model-gib: 61, sim-kv-gib: 20}"
ILL = "utilization: 0.7, args: {sim-model-gib: 61, sim-kv-gib: 20, sim-graphs-gib: -3.1, sim-load-time: 8}"
SPLIT = f"[Unit]\nConflicts={UNIT}\n[Service]\nExecStart=/bin/sleep 100000\n"
# The story's trap: nothing in it names floor, and the unit that it brings back lies there disabled.
HEAL = "#!/bin/sh\nsystemctl is-active --quiet big-model || systemctl restart big-model\n"
HEALER = "[Service]\nType=oneshot\nExecStart=/usr/local/bin/heal\n"
HEALING = "[Timer]\nOnActiveSec=1h\n[Install]\nWantedBy=timers.target\n"


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes deployed to, with somebody to tell, once for this module."""
    text = site(clean_lab, load_time=1) + "notify: {command: [/usr/bin/tee, -a, /var/lib/told]}\n"
    text = text.replace("replicas: [boxa, boxb]", f"replicas: [boxa, {{box: boxb, {WELL}}}]")
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), text)


def told(box: Box) -> list[dict[str, Any]]:
    """What a person was told by a box."""
    lines = box.run(["cat", "/var/lib/told"], check=False).stdout.splitlines()
    return [json.loads(line) for line in lines]


def said(box: Box, who: str) -> list[str]:
    lines = box.run(["cat", "/var/lib/floor/events.jsonl"]).stdout.splitlines()
    return [event["text"] for event in map(json.loads, lines) if event["who"] == who]


def state(box: Box, unit: str = UNIT) -> dict[str, str]:
    shown = box.run(["systemctl", "show", "-p", "ActiveState,Result", unit]).stdout
    return dict(line.split("=", 1) for line in shown.split())


def share(box: Box, unit: str, seconds: float) -> float:
    """The share of a core that a unit's main process takes over some seconds, with what it called meanwhile."""
    pid = box.pid(unit)

    def ticks() -> int:
        fields = box.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return sum(int(field) for field in fields[11:15])

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / 100 / seconds


def test_a_second_deployment_has_nothing_to_do_and_the_guard_rests(floor: Floor) -> None:
    assert floor("deploy").stdout.strip() == "nothing to do"
    box = floor.lab.boxes["boxa"]
    taken = share(box, "floor-guard.service", 10)
    print(f"the guard takes {taken:.2%} of a core")
    assert taken < 0.02
    # What systemd was told: boxes that are containers may not have the right to it.
    shown = box.run(["systemctl", "show", "-p", "OOMScoreAdjust,LimitMEMLOCK", "floor-guard.service"]).stdout
    assert {"OOMScoreAdjust=-1000", "LimitMEMLOCK=infinity"} == set(shown.split())


def test_a_copy_that_hangs_is_started_again_by_its_box(floor: Floor) -> None:
    """Three looks and the stall limit, whatever comes later, and the timer's interval, shorter here than usual."""
    box = floor.lab.boxes["boxb"]
    box.run(["mkdir", "-p", "/run/systemd/system/floor-watchdog.timer.d"])
    box.put("/run/systemd/system/floor-watchdog.timer.d/often.conf", OFTEN)
    box.run(["systemctl", "daemon-reload"])
    box.run(["systemctl", "restart", "floor-watchdog.timer"])
    before = invocations(floor.lab)["boxb"][UNIT]
    fault(box, fault="hang")
    limit = max(STALL, 3 * (EVERY + LOOK)) + EVERY + 2 * LOOK
    took = until(
        "the copy is another process", lambda: invocations(floor.lab)["boxb"].get(UNIT) != before, 2 * limit, 0.5
    )
    back = until("it is in the pool again", lambda: "flagship@boxb" in pool(floor.lab), 60, 0.5)
    print(f"started again after {took:.0f} s (stated: {limit:.0f}), in the pool {back:.0f} s later")
    acts = [text for text in said(box, "watchdog") if text.startswith("flagship@boxb: restart: stands still")]
    assert len(acts) == 1


def test_a_foreign_watchdog_that_would_stop_ours_is_named_before_and_after(floor: Floor) -> None:
    """It restarts a unit that lies there disabled, and whose Conflicts= would stop our copy."""
    box = floor.lab.boxes["boxb"]
    box.put("/etc/systemd/system/big-model.service", SPLIT)
    box.put("/usr/local/bin/heal", HEAL, 0o755)
    box.put("/etc/systemd/system/heal.service", HEALER)
    box.put("/etc/systemd/system/heal.timer", HEALING)
    box.run(["systemctl", "enable", "--now", "heal.timer"])
    floor("watchdog", "--once")
    line = "heal.timer (somebody else's) may start or stop engines: /usr/local/bin/heal:2 says"
    shown = floor("status").stdout
    assert line in shown
    assert f"and big-model conflicts with {UNIT}" in shown
    until("a person is told", lambda: any(line in one["text"] for one in told(box)), 60, 1)
    floor.edit("max_requests: 4", "max_requests: 5")
    refused = floor("deploy", code=1)
    assert "nothing was changed" in refused.stderr
    assert "heal.timer" in refused.stderr
    assert f"and big-model conflicts with {UNIT}" in refused.stderr
    floor.edit("max_requests: 5", "max_requests: 4")
    assert state(box)["ActiveState"] == "active"


def test_ours_declines_in_the_same_situation(floor: Floor) -> None:
    """The foreign watchdog has its way: starting ours would stop what serves instead of it."""
    box = floor.lab.boxes["boxb"]
    box.run(["systemctl", "start", "heal.service"])
    until("ours is stopped by it", lambda: state(box)["ActiveState"] == "inactive", 60)
    dry = floor("watchdog", "--once", "--dry-run")
    assert "flagship@boxb: declined: big-model.service (active) conflicts with it" in dry.stdout
    floor("watchdog", "--once")
    until("a person is told", lambda: any("big-model.service (active)" in one["text"] for one in told(box)), 60, 1)
    assert state(box, "big-model.service")["ActiveState"] == "active"
    box.run(["systemctl", "disable", "--now", "heal.timer"])
    box.run(["systemctl", "stop", "big-model.service"])
    box.run(["rm", *(f"/etc/systemd/system/{name}" for name in ("big-model.service", "heal.service", "heal.timer"))])
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
    until("the watchdog has started it", lambda: any("start: failed" in text for text in said(box, "watchdog")), 60)
    box.run(["rm", "-r", f"/run/systemd/system/{UNIT}.d"])
    box.run(["systemctl", "daemon-reload"])
    until("it is up again", lambda: state(box)["ActiveState"] == "active", 60, 0.5)
    until("it serves again", lambda: "flagship@boxb" in pool(floor.lab), 60, 0.5)


def test_a_memory_hog_is_survived(floor: Floor) -> None:
    """On a box that looks like one whose GPU shares its memory: 121.7 GiB, others 22, the engine 85.2."""
    box = floor.lab.boxes["boxb"]
    unified.make(box, UNIT, 0.7)
    unified.hog(box, 40)
    took = until("the engine is taken down", lambda: any("took flagship" in text for text in said(box, "guard")), 60)
    print(f"{took:.1f} s: {said(box, 'guard')[-1]}; the least that was left: {unified.least(box):.1f} GiB")
    assert unified.least(box) > 0
    assert state(box, "hog.service")["ActiveState"] == "active"
    until("it is skipped, not started", lambda: state(box)["Result"] == "exec-condition", 60, 0.5)
    assert f"! {UNIT} is kept down, until there is room for it" in floor("guard", "status").stdout
    assert "the guard keeps it down, until there is room for it again" in floor("deploy", code=5).stderr
    until("a person is told", lambda: any(one["key"] == f"hold {UNIT}" for one in told(box)), 60, 1)
    assert chat(floor.lab)[0] == 200  # the other box carries on


def test_a_start_that_does_not_fit_waits_for_room_before_it_takes_any(floor: Floor) -> None:
    """The hog stays: 59.7 GiB are left, 85.2 wanted."""
    box = floor.lab.boxes["boxb"]
    floor("guard", "release", "flagship@boxb")
    box.run(["systemctl", "start", "--no-block", UNIT])
    until("it asks for room", lambda: "floor.guard.admit" in box.run(["ps", "-ef"]).stdout, 30)
    time.sleep(3)
    assert box.run(["systemctl", "show", "-p", "SubState", UNIT]).stdout.strip() == "SubState=start-pre"
    box.run(["systemctl", "stop", "hog.service"])
    took = until("it serves", lambda: "flagship@boxb" in pool(floor.lab), 90, 0.5)
    print(f"it served {took:.1f} s after there was room")


def test_a_start_whose_log_announces_too_much_is_ended(floor: Floor) -> None:
    """Before it takes it. The second hold within a day is a person's to end, or another launch's."""
    box = floor.lab.boxes["boxb"]
    floor.edit(WELL, ILL)
    floor("deploy", "--ungated", code=1)
    assert any("its log estimates -3.1 GiB for CUDA graphs" in text for text in said(box, "guard"))
    assert f"! {UNIT} is kept down, until `floor guard release`" in floor("guard", "status").stdout
    floor.edit(ILL, WELL)
    floor("deploy", "--ungated")
    assert "flagship@boxb" in pool(floor.lab)
