"""Faults under load, one after the other, by a seed: 3 minutes, or as FLOOR_SOAK=20m says; FLOOR_SOAK_SEED repeats one.

Nothing may be lost that no fault explains, and nothing may stay behind.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack

import pytest

from floor.config.values import seconds
from tests.lab.boxes import Lab
from tests.lab.deployment import deployed, status, until
from tests.lab.floor import Floor
from tests.lab.shared import shared
from tests.lab.sites import PORT, site
from tests.load.running import Running
from tests.soak.faults import WHOLE, Soak
from tests.soak.look import drains, events, held, operation, programs, story, traces, whole
from tests.soak.losses import SHARED, unexplained

SEED = 11  # of the short one, so that it does the same each time
CLIENTS = 4  # of each of the three addresses
EVENTS = 40  # that a fault may leave on a box, on average: twice what a restart of a copy leaves
STUCK = ("abandoned", "interrupted", "outlived", "nobody", "is left", "both hold")  # of a warning, in the end
SETTLED = 20.0  # seconds
GROWTH = 1.5  # of descriptors and memory of a service that runs all the time


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Two boxes with a copy each, that share an address."""
    text = site(clean_lab, requests=16).replace(f"listen: {PORT},", f"listen: {PORT}, address: {shared(clean_lab)},")
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), text)


def load(lab: Lab, address: str) -> Running:
    words = ["--clients", str(CLIENTS), "--tokens", "30", "--timeout", "40"]
    return Running(f"http://{address}:{PORT}", "flagship", *words, enter=lab.client.enter())


def test_nothing_is_lost_and_nothing_stays_behind(floor: Floor) -> None:
    lab, boxes = floor.lab, list(floor.lab.boxes.values())
    length = float(str(seconds(os.environ.get("FLOOR_SOAK", "3m"))))
    seed = int(os.environ.get("FLOOR_SOAK_SEED") or (time.time() if "FLOOR_SOAK" in os.environ else SEED))
    soak = Soak(floor, seed)
    print(f"soak: {length:.0f} s, FLOOR_SOAK_SEED={seed}")
    until("whole at first", lambda: whole(lab), WHOLE)
    before = {box.name: (programs(box), traces(box), held(box), events(box)) for box in boxes}
    targets = {box.name: box.address for box in boxes} | {SHARED: shared(lab)}
    with ExitStack() as stack:
        running = {name: stack.enter_context(load(lab, address)) for name, address in targets.items()}
        ends = time.monotonic() + length
        while time.monotonic() < ends:
            soak.once()
            soak.pause(0.5, 3)
        reports = {name: one.stop() for name, one in running.items()}
    failures = {name: report.failures for name, report in reports.items()}
    for name, report in reports.items():
        print(f"soak: through {name}: {report.good} of {report.sent} good, {report.statuses}")
    print(f"soak: {len(soak.done)} faults in {length:.0f} s")
    lost = unexplained(failures, soak.done)
    if lost:
        first = min(one["start"] for _, one, _ in lost) + time.time() - time.monotonic()
        print("\n".join(story(box, first - 2) for box in boxes))
    assert not lost, "\n".join(f"{target}: {why}: {one}" for target, one, why in lost[:20])
    assert all(report.good > 0.5 * report.sent for report in reports.values())
    assert "nothing to do" in floor("deploy").stdout
    told = status(floor)["warnings"]
    print(f"soak: warnings at the end: {told}")
    assert not [line for line in told if any(word in line for word in STUCK)]
    for box in boxes:
        was = before[box.name]
        ends = time.monotonic() + SETTLED
        while (programs(box), traces(box)) != was[:2] and time.monotonic() < ends:
            time.sleep(1)  # a round of the watchdog, or a question of a pool, is no trace
        assert programs(box) == was[0], box.name
        assert traces(box) == was[1], box.name
        assert drains(box) == {}, box.name
        assert operation(box)["state"] == "done", box.name
        came = events(box) - was[3]
        now = held(box)
        print(f"soak: {box.name}: {came} events, {was[2]} became {now}")
        assert came <= EVENTS * len(soak.done), box.name
        assert all(now[what] <= GROWTH * count for what, count in was[2].items()), (was[2], now)
