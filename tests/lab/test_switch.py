"""From a copy on each box to one model over both, and back: under load, killed on the way, through boots, and against
others who would start what is not to run."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from typing import Any

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT as COPY
from tests.lab.deployment import chat, deployed, invocations, until
from tests.lab.floor import Floor
from tests.lab.groups import GROUP, generates, split_site
from tests.lab.groups import UNIT as PART
from tests.lab.sites import MODEL, NATIVE, proxy
from tests.load.running import Report, Running

SECOND = "second"
SECOND_PORT = 8081
KILLS = 2
SEED = 20261130
START = 60.0  # seconds for a start of simulated engines on a machine that is busy with something else
SLACK = 2.0  # seconds that a switch should take beside what the engines take


def site(lab: Lab) -> str:
    """The site of a split model, and beside it one that is not split."""
    text = split_site(lab, args="")
    second = f"""\
  {SECOND}:
    source: /srv/tiny
    context: 8192
    utilization: 0.1
    request_time: 60
    start_time: 60
    port: 8001
    listen: {SECOND_PORT}
    runtime: {NATIVE}
    args: {{sim-load-time: 1}}
    replicas: [{", ".join(lab.boxes)}]
proxy:"""
    return text.replace("proxy:", second, 1)


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to in mode replicas, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab))


def modes(lab: Lab) -> list[str]:
    return [box.read("/etc/floor/mode").strip() for box in lab.boxes.values()]


def engines(lab: Lab, box: str) -> set[str]:
    """The units of the switched model that are at work on a box."""
    states = {unit: lab.boxes[box].run(["systemctl", "is-active", unit], check=False) for unit in (COPY, PART)}
    return {unit for unit, done in states.items() if done.stdout.strip() in ("active", "activating")}


def result(box: Box, unit: str) -> str:
    """How the last start of a unit ended, as systemd says."""
    return box.run(["systemctl", "show", "-p", "Result", "--value", unit]).stdout.strip()


def noted(lab: Lab, box: str) -> dict[str, Any]:
    return dict(json.loads(lab.boxes[box].read("/var/lib/floor/starts.json")))


def seconds(lab: Lab, old: list[str], new: list[str]) -> tuple[float, float]:
    """What the engines themselves took: the longest stop of the old ones, the shortest start of the new ones."""
    every: dict[str, dict[str, Any]] = {}
    for box in lab.boxes:
        for name, found in noted(lab, box).items():
            kept = every.setdefault(name, {"starts": [], "stops": []})
            every[name] = {kind: [*kept[kind], *found[kind]] for kind in kept}
    stop = max((every[name]["stops"][-1]["seconds"] for name in old if every[name]["stops"]), default=0.0)
    starts = [every[name]["starts"][-1] for name in new if every[name]["starts"]]
    return float(stop), min(float(one["seconds"]) + float(one["warm"]) for one in starts)


def judged(what: str, report: Report, stop: float, start: float) -> None:
    """Nothing but 200 and 503 with Retry-After, and away no longer than the engines' own time and a little."""
    assert set(report.statuses) <= {"200", "503"}, report
    assert all(1 <= int(one["retry_after"]) <= 60 for one in report.failures), report.failures[:3]
    away = max(one["end"] for one in report.failures) - min(one["start"] for one in report.failures)
    longest = max(end - began for began, end in report.requests)
    goal = stop + longest + start + SLACK
    print(
        f"{what}: nobody answered for {away:.1f} s; goal {goal:.1f} s: stop {stop:.1f}, requests {longest:.1f}, "
        f"start and warm-up {start:.1f}, steps {away - goal + SLACK:.1f} of {SLACK:.0f} s; "
        f"{report.statuses}"
    )
    assert away <= 2 * goal


COPIES = [f"{MODEL}@boxa", f"{MODEL}@boxb"]


def test_there_and_back_under_load(floor: Floor) -> None:
    lab = floor.lab
    before = invocations(lab)
    shown = floor("switch", "split", "--dry-run", code=3).stdout
    assert f"nobody answers for {MODEL} for about " in shown
    assert f"{SECOND} runs in both modes: nothing of it is touched" in shown
    second = f"http://{lab.boxes['boxb'].address}:{SECOND_PORT}"
    with Running(second, SECOND, "--clients", "2", "--tokens", "20", enter=lab.client.enter()) as beside:
        for mode, old, new in (("split", COPIES, [GROUP]), ("replicas", [GROUP], COPIES)):
            with Running(
                proxy(lab), MODEL, "--clients", "3", "--tokens", "20", "--stream", "yes", enter=lab.client.enter()
            ) as load:
                floor("switch", mode)
                until("answers", lambda: generates(lab), START)
                report = load.stop()
            judged(f"switch {mode}", report, *seconds(lab, old, new))
            told = [one for one in report.failures if f"is being switched to mode {mode}" in str(one)]
            assert told, report.failures[:3]
            assert chat(lab, stream=True)[0] == 200
            assert modes(lab) == [mode, mode]
            assert floor("switch", mode).stdout.strip() == "nothing to do"
            assert floor("deploy").stdout.strip() == "nothing to do"
        untouched = beside.stop()
    assert untouched.failures == [], untouched
    after = invocations(lab)
    unit = f"floor-copy-{SECOND}.service"
    assert [found[unit] for found in before.values()] == [found[unit] for found in after.values()]


def own_watchdog(box: Box, unit: str) -> None:
    """A timer of somebody's own starts a unit again and again; return when it has done so twice."""
    timer = ["--on-active=0.2", "--on-unit-active=0.5", "--timer-property=AccuracySec=100ms"]
    box.run(["systemd-run", "--unit=own-watchdog", *timer, "systemctl", "start", unit])
    runs: set[str] = set()

    def twice() -> bool:
        runs.add(box.run(["systemctl", "show", "-p", "InvocationID", "--value", "own-watchdog.service"]).stdout)
        return len(runs - {"\n"}) >= 2

    until("it has run twice", twice, 20)


def test_the_other_modes_units_refuse_whoever_starts_them(floor: Floor) -> None:
    """By hand, by a restart, and by somebody's watchdog: and what serves is not touched."""
    lab = floor.lab
    for mode, wrong, right in (("replicas", PART, COPY), ("split", COPY, PART)):
        floor("switch", mode)
        until("answers", lambda: generates(lab), START)
        box = lab.boxes["boxb"]
        serving = {name: found[right] for name, found in invocations(lab).items()}
        for verb in ("start", "restart"):
            box.run(["systemctl", verb, wrong])
            assert engines(lab, "boxb") == {right}, verb
        own_watchdog(box, wrong)
        assert engines(lab, "boxb") == {right}
        box.run(["systemctl", "stop", "own-watchdog.timer"])
        assert {name: found[right] for name, found in invocations(lab).items()} == serving
        assert chat(lab)[0] == 200


def test_a_foreign_watchdog_is_found_and_named_before_anything_stops(floor: Floor) -> None:
    """The old split's watchdog starts a unit whose start would stop what comes: enabled, though nobody runs it now."""
    lab, box = floor.lab, floor.lab.boxes["boxa"]
    floor("switch", "split")
    until("answers", lambda: generates(lab), START)
    serving = invocations(lab)
    box.put(
        "/etc/systemd/system/old-split.service", f"[Unit]\nConflicts={COPY}\n[Service]\nExecStart=/bin/sleep 9999\n"
    )
    box.put(
        "/etc/systemd/system/old-watchdog.service",
        "[Service]\nType=oneshot\nExecStart=/bin/systemctl start old-split.service\n",
    )
    box.put(
        "/etc/systemd/system/old-watchdog.timer",
        "[Timer]\nOnUnitActiveSec=1h\nOnBootSec=1h\n[Install]\nWantedBy=timers.target\n",
    )
    box.run(["systemctl", "daemon-reload"])
    box.run(["systemctl", "enable", "--now", "old-watchdog.timer"])
    try:
        said = floor("switch", "replicas", code=1)
        assert "nothing was changed" in said.stderr
        assert "old-split.service" in said.stderr
        assert COPY in said.stderr
        now = invocations(lab)
        assert {name: found[PART] for name, found in now.items()} == {n: found[PART] for n, found in serving.items()}
    finally:
        box.run(["systemctl", "disable", "--now", "old-watchdog.timer"])
        for kind in ("old-split.service", "old-watchdog.service", "old-watchdog.timer"):
            box.run(["rm", "-f", f"/etc/systemd/system/{kind}"])
        box.run(["systemctl", "daemon-reload"])


@pytest.mark.parametrize("mode", ["split", "replicas"])
def test_a_boot_brings_back_exactly_the_mode(floor: Floor, mode: str) -> None:
    lab = floor.lab
    floor("switch", mode)
    until("answers", lambda: generates(lab), START)
    right = {"split": PART, "replicas": COPY}[mode]
    for name in ("boxb", "boxa"):
        lab.boxes[name].power_cut()
        lab.boxes[name].boot()
        until(f"{name} is back", lambda: generates(lab), START)
        assert modes(lab) == [mode, mode]
        assert engines(lab, name) == {right}
    floor("switch", mode)
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_a_power_cut_in_the_middle_leaves_each_box_in_one_mode(floor: Floor) -> None:
    lab = floor.lab
    floor("switch", "replicas")
    process = floor.start("switch", "split")
    until("the first box is switched", lambda: "split" in modes(lab), 4 * START, 0.02)
    lab.boxes["boxb"].power_cut()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    # Whichever mode its disk has: in split its part waits at the gate for boxa, and the boot is not over before that.
    boxb = lab.boxes["boxb"]
    boxb.boot(settled=False)
    refused = {"split": COPY, "replicas": PART}[modes(lab)[1]]
    until(f"the boot has refused {refused}", lambda: result(boxb, refused) == "exec-condition", START)
    for name, mode in zip(lab.boxes, modes(lab), strict=True):
        allowed = {"split": {PART}, "replicas": {COPY}}[mode]
        assert engines(lab, name) <= allowed, (name, mode)
    assert floor("deploy", code=5).stderr.count("floor switch") >= 1
    floor("switch", "--abort")
    until("answers", lambda: generates(lab), START)
    assert modes(lab) == ["replicas", "replicas"]
    assert [engines(lab, name) for name in lab.boxes] == [{COPY}, {COPY}]


def test_killed_at_seeded_points_the_same_command_or_the_way_back_ends_it(floor: Floor) -> None:
    lab = floor.lab
    moments = random.Random(SEED)  # noqa: S311 # not for secrets
    floor("switch", "replicas")
    began = time.monotonic()
    floor("switch", "split")
    whole = time.monotonic() - began
    second = f"http://{lab.boxes['boxa'].address}:{SECOND_PORT}"
    with (
        Running(proxy(lab), MODEL, "--clients", "2", "--tokens", "20", enter=lab.client.enter()) as load,
        Running(second, SECOND, "--clients", "1", "--tokens", "20", enter=lab.client.enter()) as beside,
    ):
        for number in range(KILLS):
            mode = ("replicas", "split")[number % 2]
            process = floor.start("switch", mode)
            time.sleep(moments.uniform(0, 0.8 * whole))
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"kill {number + 1}, towards {mode}; modes {modes(lab)}")
            for name in lab.boxes:
                assert len(engines(lab, name)) <= 1, name
            if number == KILLS - 1:
                floor("switch", "--abort", code=None)
            floor("switch", mode)
            until("answers", lambda: generates(lab), START)
        report, untouched = load.stop(), beside.stop()
    print(f"a whole switch takes {whole:.1f} s; under load meanwhile: {report.statuses}, {untouched}")
    assert set(report.statuses) <= {"200", "503"}, report
    assert untouched.failures == [], untouched
