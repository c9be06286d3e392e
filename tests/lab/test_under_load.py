"""Restarts, drains, kills and power cuts under load, by clients that never retry. Every figure is printed."""

from __future__ import annotations

import threading
import time

import pytest

from tests.lab import faults
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, deployed, fault, in_both, left, pool, until
from tests.lab.floor import Floor
from tests.lab.sites import proxy, site
from tests.load.running import Running

REQUESTS = 16  # at once in each copy
CLIENTS = 2 * REQUESTS


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab, requests=REQUESTS))


@pytest.fixture(autouse=True)
def whole(floor: Floor) -> None:
    """Each test begins with both copies in the pool of both proxies."""
    until("both copies in both pools", lambda: in_both(floor.lab), 30)


def load(floor: Floor, *options: str, box: str = "boxa") -> Running:
    return Running(
        proxy(floor.lab, box), "flagship", "--clients", str(CLIENTS), *options, enter=floor.lab.client.enter()
    )


def test_a_rolling_restart_loses_no_request(floor: Floor) -> None:
    drained: list[float] = []
    over = threading.Event()

    def watch() -> None:
        before = 2
        while not over.wait(0.05):
            now = len(pool(floor.lab))
            if now < before:
                drained.append(time.monotonic())
            before = now

    watcher = threading.Thread(target=watch)
    with load(floor, "--tokens", "60", "--stream", "yes") as running:
        watcher.start()
        began = time.monotonic()
        floor("restart")
        ended = time.monotonic()
        while time.monotonic() - began < 36:
            time.sleep(0.5)  # at least 500 requests in all
        over.set()
        watcher.join()
        report = running.stop()
    spanning = [report.spanning(moment) for moment in drained]
    print(f"rolling restart took {ended - began:.1f} s, streams open at each drain {spanning}: {report}")
    assert report.failures == []
    assert report.statuses == {"200": report.sent}
    assert report.sent >= 500
    assert len(spanning) == 2
    assert min(spanning) >= 30
    # floor has drained them before, and they are not waited for a second time
    assert [left(box) for box in floor.lab.boxes.values()] == [0, 0]


def test_a_killed_engine_takes_only_what_was_in_flight_on_it(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    with load(floor, "--tokens", "60") as running:
        time.sleep(3)
        killed = time.monotonic()
        faults.kill(box, box.pid(UNIT))
        out = until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
        until("warm again", lambda: box.run(["systemctl", "is-active", UNIT], check=False).stdout == "active\n", 60)
        back = until("back in the pool", lambda: len(pool(floor.lab)) == 2, 4)
        time.sleep(2)
        report = running.stop()
    assert left(box) == 0, "a dead engine was waited for"
    print(f"out of the pool {out:.2f} s after the kill, back {back:.2f} s after warm-up: {report}")
    assert report.statuses.keys() <= {"200", "503", "error"}
    assert len(report.failures) <= CLIENTS // 2 + 1  # those that least_conn had sent there, and no more
    assert all(failure["start"] <= killed + 0.1 for failure in report.failures)


def test_power_loss_of_a_box_ends_its_requests_soon(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    with load(floor, "--tokens", "60") as running:
        time.sleep(3)
        cut = time.monotonic()
        box.power_cut()
        out = until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
        status, _ = chat(floor.lab, "boxa", timeout=10)
        time.sleep(8)
        report = running.stop()
    box.boot()
    longest = max((failure["end"] - cut for failure in report.failures), default=0.0)
    print(f"out of the pool {out:.2f} s after the cut, last request on it ended after {longest:.2f} s: {report}")
    assert status == 200
    assert report.statuses.keys() <= {"200", "503", "error"}
    assert len(report.failures) <= CLIENTS  # those on it, and those sent to it before it was out
    assert longest <= 2 * 6
    until("back after the boot", lambda: len(pool(floor.lab)) == 2, 60)


def test_a_partition_heals_by_itself(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    box.partition()
    out = until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
    box.heal()
    back = until("back", lambda: len(pool(floor.lab)) == 2, 20)
    print(f"out {out:.2f} s after the cable was pulled, back {back:.2f} s after it was put in")


def test_all_copies_down_is_503_until_the_first_is_warm(floor: Floor) -> None:
    lab = floor.lab
    for box in lab.boxes.values():
        box.run(["systemctl", "stop", UNIT])
    until("nobody in the pool", lambda: pool(lab) == [], 6)
    with load(floor, "--tokens", "4") as running:
        lab.boxes["boxa"].run(["systemctl", "start", UNIT])  # returns when it is warm
        warm = time.monotonic()
        until("in the pool", lambda: pool(lab) == ["flagship@boxa"], 4)
        first = until("an answer", lambda: chat(lab)[0] == 200, 4) + 0.0
        time.sleep(1)
        report = running.stop()
    good = [end for (_start, end) in report.requests]
    print(f"first success {first:.2f} s after the pool had it, {max(good) - warm:.1f} s of load after warm: {report}")
    assert set(report.statuses) <= {"200", "503"}
    assert all(failure["end"] <= warm + 2 * 2 for failure in report.failures)
    lab.boxes["boxb"].run(["systemctl", "start", UNIT])


def test_drain_takes_out_and_undrain_lets_in(floor: Floor) -> None:
    with load(floor, "--tokens", "60") as running:
        floor("drain", "flagship@boxb")
        assert pool(floor.lab) == ["flagship@boxa"]
        assert pool(floor.lab, "boxb") == ["flagship@boxa"]
        refused = floor("drain", "flagship@boxa", code=5)
        assert "only member" in refused.stderr
        floor("undrain", "flagship@boxb")
        assert len(pool(floor.lab)) == 2
        report = running.stop()
    assert report.failures == []


def test_long_prompts_on_both_copies_empty_no_pool(floor: Floor) -> None:
    """Prompts that are read for longer than any probe waits, an engine that is silent meanwhile: no reason to leave."""
    lab = floor.lab
    for box in lab.boxes.values():
        fault(box, fault="prefill", seconds=6, block=True, times=2)
    with load(floor, "--tokens", "4", "--words", "500", "--stream", "no", "--timeout", "120") as running:
        seen: set[int] = set()
        ended = time.monotonic() + 18
        while time.monotonic() < ended:
            seen.add(len(pool(lab)))
            time.sleep(0.2)
        report = running.stop()
    slowest = max(end - start for start, end in report.requests)
    print(f"pool sizes seen {seen}, slowest answer after {slowest:.1f} s: {report}")
    assert seen == {2}
    assert slowest > 6
    assert report.failures == []
