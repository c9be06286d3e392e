"""Another build of a model on real boxes, under load: tested outside the pools, live only if it still calls tools."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.lab import sites
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, in_both, invocations, set_up, until
from tests.lab.floor import Floor
from tests.lab.sites import MODEL, NATIVE, PORT, proxy
from tests.load.running import Report, Running

ANSWERS = "/srv/tiny/answers.json"
WARM = 60.0  # seconds until both copies are in both pools on a machine that is busy with something else


def site(lab: Lab) -> str:
    """A model that does all of the tool test right, quickly."""
    names = ", ".join(lab.boxes)
    boxes = "\n".join(f"  {box.name}: {{host: {box.address}}}" for box in lab.boxes.values())
    return f"""\
boxes:
{boxes}
models:
  {MODEL}:
    source: /srv/tiny
    context: 8192
    max_requests: 12
    utilization: 0.1
    request_time: 60
    start_time: 60
    runtime: {NATIVE}
    args:
      enable-auto-tool-choice: true
      sim-answers: {ANSWERS}
      sim-load-time: 1
      sim-speed-factor: 20
    replicas: [{names}]
proxy: {{boxes: [{names}], listen: {PORT}, allow: [{sites.tests(lab)}]}}
health: {{stall: 20}}
"""


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up, with the book that the engines answer from, and deployed to; once for this module."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(site(clean_lab))
    set_up(clean_lab, floor)
    for box in clean_lab.boxes.values():
        write = f"/opt/floor/current/bin/python -I -m floor.tooltest answers > {ANSWERS}"
        box.run(["sh", "-c", write])
    floor("deploy")
    return floor


def swapped(floor: Floor, *words: str, code: int) -> tuple[str, Report, float]:
    """Run `floor swap` under load on both proxies. Return what it said, what one of the two loads saw, and how long it
    took; the other load must have seen no failure."""
    lab = floor.lab
    until("both copies serve", lambda: in_both(lab), WARM)
    options = ("--clients", "1", "--tokens", "20")
    with (
        Running(proxy(lab), MODEL, *options, "--stream", "both", enter=lab.client.enter()) as load,
        Running(proxy(lab, "boxb"), MODEL, *options, "--stream", "yes", enter=lab.client.enter()) as other,
    ):
        began = time.monotonic()
        done = floor("swap", MODEL, *words, code=code)
        took = time.monotonic() - began
        report, second = load.stop(), other.stop()
    assert second.failures == [], second.failures[:3]
    assert report.failures == [], report.failures[:3]
    assert min(report.good, second.good) > 20
    return done.stdout + done.stderr, report, took


def test_a_good_build_goes_live_on_both_copies(floor: Floor) -> None:
    lab, before = floor.lab, invocations(floor.lab)
    told, report, took = swapped(floor, "--args", "sim-seed=7", code=0)
    print(f"swap of a good build: {took:.0f} s with a baseline, {report.good} requests of one client, none failed")
    assert "baseline of flagship" in told
    after = invocations(lab)
    assert all(before[box][UNIT] != after[box][UNIT] for box in lab.boxes)
    assert "sim-seed: 7" in floor.config.read_text()
    assert not floor.config.with_name("floor.yaml.before-swap").exists()
    assert chat(lab)[0] == 200
    assert floor("swap", MODEL).stdout.strip() == "nothing to do"
    assert floor("deploy").stdout.strip() == "nothing to do"
    found = json.loads(lab.boxes["boxa"].read(f"/var/lib/floor/tooltest/{UNIT}.json"))
    assert (found["word"], found["tier"]) == ("PASS", "gate")
    assert json.loads(lab.boxes["boxb"].read(f"/var/lib/floor/tooltest/{UNIT}.json"))["tier"] == "quick"
    events = lab.boxes["boxa"].read("/var/lib/floor/events.jsonl")
    assert "tool test of flagship@boxa, gate: PASS" in events


def test_a_build_with_one_fault_goes_back(floor: Floor) -> None:
    """Streamed calls without ids: only the tool test sees that."""
    lab, before, text = floor.lab, invocations(floor.lab), floor.config.read_text()
    told, report, took = swapped(floor, "--args", "sim-fault=tools:what=no-id,mode=streamed", code=1)
    print(f"swap of a build with a fault: {took:.0f} s, {report.good} requests of one client, none failed")
    assert "flagship@boxa: BLOCK: " in told
    assert "ids" in told
    assert floor.config.read_text() == text
    page = Path(floor.folder / "flagship-tooltest.md").read_text()
    assert "- **ids**, first in " in page
    assert before["boxb"][UNIT] == invocations(lab)["boxb"][UNIT]  # the rest was never touched
    until("both copies serve", lambda: in_both(lab), WARM)
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_a_copy_that_never_gets_ready_goes_back(floor: Floor) -> None:
    lab, before, text = floor.lab, invocations(floor.lab), floor.config.read_text()
    told, report, took = swapped(floor, "--args", "sim-fault=die:how=exit,after=0.5", code=1)
    print(f"swap of a build that dies: {took:.0f} s, {report.good} requests of one client, none failed")
    assert "does not stay up" in told
    assert floor.config.read_text() == text
    assert before["boxb"][UNIT] == invocations(lab)["boxb"][UNIT]
    until("both copies serve", lambda: in_both(lab), WARM)
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_a_deployment_does_not_change_the_build_of_a_model_that_serves(floor: Floor) -> None:
    floor.edit("sim-seed: 7", "sim-seed: 8")
    refused = floor("deploy", code=5).stderr
    assert "flagship@boxa: its build becomes another (--sim-seed 7 → 8)" in refused
    assert "`floor swap flagship` tests it before it serves; --ungated lets it serve as it is" in refused
    floor("deploy", "--ungated")
    events = floor.lab.boxes["boxb"].read("/var/lib/floor/events.jsonl")
    assert (
        "ungated, its build becomes another: --sim-seed 7 → 8"
        in floor.lab.boxes["boxa"].read("/var/lib/floor/events.jsonl") + events
    )
