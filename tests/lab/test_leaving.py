"""Boxes and copies that go say so first: stopped by hand or rebooted under load, by clients that never retry."""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from floor.desired.times import RESTART_BURST
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, deployed, in_both, left, pool, until
from tests.lab.floor import Floor
from tests.lab.sites import proxy, site
from tests.load.running import Running

REQUESTS = 8  # at once in each copy
CLIENTS = 2 * REQUESTS
STREAMS = ("--tokens", "50", "--stream", "yes")


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab, requests=REQUESTS))


@pytest.fixture(autouse=True)
def whole(floor: Floor) -> None:
    """Each test begins with both copies in the pool of both proxies."""
    until("both copies in both pools", lambda: in_both(floor.lab), 60)


def load(floor: Floor, box: str) -> Running:
    """Streams through the proxy of one box."""
    options = ("--clients", str(CLIENTS), *STREAMS)
    return Running(proxy(floor.lab, box), "flagship", *options, enter=floor.lab.client.enter())


def test_a_copy_that_is_stopped_and_restarted_by_hand_loses_no_request(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    with load(floor, "boxa") as running:
        began = time.monotonic()
        box.run(["systemctl", "stop", UNIT])
        stopped = time.monotonic() - began
        state = box.run(["systemctl", "show", "-p", "ActiveState,Result", UNIT]).stdout
        box.run(["systemctl", "start", UNIT])
        until("in again", lambda: len(pool(floor.lab)) == 2, 10)
        box.run(["systemctl", "restart", UNIT])
        until("in again", lambda: len(pool(floor.lab)) == 2, 10)
        report = running.stop()
    print(f"stopped within {stopped:.1f} s: {report}")
    assert report.failures == []
    assert report.statuses == {"200": report.sent}
    assert state.split() == ["Result=success", "ActiveState=inactive"]
    assert left(box) == 2


def test_a_restart_that_is_asked_for_is_never_one_start_too_many(floor: Floor) -> None:
    """systemd has counted as many starts as the limit allows, and not one has failed."""
    box = floor.lab.boxes["boxb"]
    box.run(["systemctl", "reset-failed", UNIT])
    for _ in range(RESTART_BURST):
        box.run(["systemctl", "stop", UNIT], timeout=60)
        box.run(["systemctl", "start", "--no-block", UNIT])
    until("both copies in both pools", lambda: in_both(floor.lab), 60)
    floor("restart", "boxb")


def test_the_target_stops_no_engine(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    before = box.pid(UNIT)
    box.run(["systemctl", "stop", "floor.target"])
    assert box.pid(UNIT) == before
    assert floor("deploy").stdout.strip() == "nothing to do"  # whoever stopped it may have a reason
    box.run(["systemctl", "start", "floor.target"])
    assert box.pid(UNIT) == before


def test_a_reboot_from_inside_loses_no_request(floor: Floor) -> None:
    """Nor is one lost that its own proxy has taken, while new ones are expected to go to the other proxy."""
    box = floor.lab.boxes["boxb"]
    few = ("--clients", "8", "--requests", "8", "--tokens", "100", "--stream", "yes")
    own = Running(proxy(floor.lab, "boxb"), "flagship", *few, enter=floor.lab.client.enter())
    with load(floor, "boxa") as running, own:
        began = time.monotonic()
        with ThreadPoolExecutor() as threads:
            booting = threads.submit(box.boot_again)
            box.run(["systemctl", "reboot"], check=False)
            out = until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 10)
            down = until("down", lambda: not box.is_on(), 60) + out
            booting.result()
        back = until("in again", lambda: in_both(floor.lab), 60)
        report, taken = running.stop(), own.report()
    took = time.monotonic() - began
    print(f"out {out:.2f} s after `systemctl reboot`, down {down:.1f} s, back {back:.1f} s after the boot: {report}")
    print(f"through its own proxy, {taken.spanning(began)} under way at the order: {taken}")
    assert took < 90
    assert (taken.failures, taken.good) == ([], 8)
    assert report.failures == []
    assert report.statuses == {"200": report.sent}
    assert report.spanning(began + out) >= 4


def test_a_reboot_of_both_from_afar_loses_no_request(floor: Floor) -> None:
    """The clients of a box that goes use the other one's proxy, from the moment that it is drained."""
    boots = {name: box.boot_id() for name, box in floor.lab.boxes.items()}
    began = time.monotonic()
    command = floor.start("reboot", "boxa", "boxb")
    reports = []
    with ThreadPoolExecutor() as threads:
        for name, other in (("boxa", "boxb"), ("boxb", "boxa")):
            said = until_said(command, f"reboot {name}")
            with load(floor, other) as running:
                threads.submit(floor.lab.boxes[name].boot_again, 120).result()
                until("back", lambda: in_both(floor.lab), 60)
                reports.append(running.stop())
            print(f"{name} is back after {time.monotonic() - began:.1f} s: {reports[-1]}")
    rest = command.communicate(timeout=120)[0]
    print(f"floor reboot took {time.monotonic() - began:.1f} s\n{said}{rest}")
    assert command.returncode == 0, rest
    assert rest.endswith("done\n")
    for report in reports:
        assert report.failures == []
        assert report.statuses == {"200": report.sent}
    assert all(box.boot_id() != boots[name] for name, box in floor.lab.boxes.items())
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_killed_while_the_box_is_down_it_is_not_rebooted_again(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    command = floor.start("reboot", "boxb")
    box.await_off(60)
    command.kill()
    command.communicate()
    box.boot()
    booted = box.boot_id()
    done = floor("reboot", "boxb")
    assert "which had rebooted boxb" in done.stdout
    assert box.boot_id() == booted
    assert in_both(floor.lab)


def until_said(command: subprocess.Popen[str], line: str) -> str:
    """Read what a command says until it says `line`; return all of it."""
    assert command.stdout is not None
    said = ""
    while not said.endswith(f"{line}\n"):
        more = command.stdout.readline()
        assert more, said
        said += more
    return said
