"""Real vLLM, split over both boxes and back: by command, under load, and healing by itself."""

from __future__ import annotations

import json
import signal
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import chat, pool, set_up, status, until
from tests.lab.floor import Floor
from tests.lab.sites import proxy
from tests.load.running import Report, Running
from tests.real.sites import NATIVE, split_site

GROUP = "floor-group-flagship.service"
COPY = "floor-copy-flagship.service"
BACKEND = "flagship@boxa+boxb"
START = 400.0  # seconds that a start may take on a slow machine


@pytest.fixture(scope="module")
def floor(real_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """A floor.yaml for new boxes, with a split beside the copies; the first test deploys it."""
    folder: Path = tmp_path_factory.mktemp("site")
    floor = Floor(real_lab, folder)
    floor.write(split_site(real_lab, NATIVE))
    return floor


def group(floor: Floor) -> dict[str, Any]:
    """The group as `floor status --json` tells it."""
    [entry] = [one for one in status(floor)["backends"] if one["backend"] == BACKEND]
    return dict(entry["group"])


def active(lab: Lab, unit: str) -> dict[str, str]:
    """What systemd says of a unit on each box."""
    asked = ["systemctl", "is-active", unit]
    return {name: box.run(asked, check=False).stdout.strip() for name, box in lab.boxes.items()}


def streams(floor: Floor) -> None:
    """A streamed answer through each proxy."""
    for box in floor.lab.boxes:
        code, body = chat(floor.lab, box, stream=True, tokens=16, timeout=60)
        assert code == 200
        assert body.rstrip().endswith("data: [DONE]")


def longest_gap(report: Report) -> float:
    """Seconds between the end of a good answer and the beginning of the next one; clients ask all the time."""
    bad = {(one["start"], one["end"]) for one in report.failures}
    good = sorted(request for request in report.requests if request not in bad)
    until_then = accumulate((end for _, end in good), max)
    return max((start - end for (start, _), end in zip(good[1:], until_then, strict=False)), default=0.0)


def stop_and_start(lab: Lab) -> float:
    """Seconds of the last stop of an engine and of the first start after it, warm-up included, as the boxes noted."""
    stops, starts = [], []
    for box in lab.boxes.values():
        for entries in json.loads(box.read("/var/lib/floor/starts.json")).values():
            stops += [(one["at"], one["seconds"]) for one in entries["stops"][-1:]]
            starts += [(one["at"], one["seconds"] + one["warm"]) for one in entries["starts"][-1:]]
    stopped, stopping = max(stops)
    return float(stopping + min((at, starting) for at, starting in starts if at >= stopped)[1])


def switched(floor: Floor, mode: str) -> float:
    """Switch under load; return how long nobody answered, as a part of the goal; the figures are printed.

    Clients get answers, and 503 that say when to come again.
    """
    options = ("--clients", "2", "--tokens", "8", "--words", "5", "--stream", "yes")
    with Running(proxy(floor.lab), "flagship", *options, enter=floor.lab.client.enter()) as load:
        began = time.monotonic()
        floor("switch", mode, timeout=900)
        took = time.monotonic() - began
        time.sleep(2)
        report = load.stop()
    gap, goal = longest_gap(report), stop_and_start(floor.lab) + 2
    print(f"switch {mode}: {took:.0f} s, without the model {gap:.2f} s (goal {goal:.2f} s); {report.statuses}")
    assert set(report.statuses) == {"200", "503"}
    assert all(1 <= int(one["retry_after"]) <= 60 for one in report.failures), report.failures[:3]
    streams(floor)
    return gap / goal


def test_bare_boxes_are_deployed_to_in_mode_split(floor: Floor) -> None:
    set_up(floor.lab, floor)
    began = time.monotonic()
    floor("deploy", "--mode", "split", timeout=900)
    print(f"a group deployed in {time.monotonic() - began:.0f} s")
    streams(floor)
    assert (group(floor)["state"], active(floor.lab, COPY)) == ("running", {"boxa": "inactive", "boxb": "inactive"})
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_a_killed_worker_is_out_at_once_and_the_group_generates_again_by_itself(floor: Floor) -> None:
    """The rank alone is killed: vLLM's own main process ends with status 0 then, and the head stays healthy."""
    killed = time.monotonic()
    floor.lab.boxes["boxb"].run(["pkill", "-KILL", "-f", "VLLM::Worker"])
    out = until("out of the pool", lambda: pool(floor.lab) == [], 60)
    # Decided is not yet known to nginx: what arrives before that is answered by the dying head itself.
    until("answered with 503", lambda: chat(floor.lab)[0] == 503, 2)
    assert group(floor)["state"] in ("degraded", "starting", "down")
    until("in the pool", lambda: pool(floor.lab) == [BACKEND], START, 0.2)
    print(f"worker killed: out after {out:.1f} s, generating again after {time.monotonic() - killed:.0f} s")
    assert group(floor)["state"] == "running"
    streams(floor)


def test_back_to_a_copy_on_each_box(floor: Floor) -> None:
    assert switched(floor, "replicas") < 2
    assert sorted(pool(floor.lab)) == ["flagship@boxa", "flagship@boxb"]
    assert (active(floor.lab, GROUP), active(floor.lab, COPY)) == (
        {"boxa": "inactive", "boxb": "inactive"},
        {"boxa": "active", "boxb": "active"},
    )


def copies_stopped(lab: Lab) -> bool:
    return not {"active", "deactivating"} & set(active(lab, COPY).values())


def modes_changed(lab: Lab) -> bool:
    return all(box.read("/etc/floor/mode") == "split\n" for box in lab.boxes.values())


def ranks_start(lab: Lab) -> bool:
    return active(lab, GROUP)["boxa"] == "activating"


def test_a_switch_that_is_killed_at_three_moments_goes_on_with_the_same_command(floor: Floor) -> None:
    for moment in (copies_stopped, modes_changed, ranks_start):
        running = floor.start("switch", "split")
        until(moment.__name__, lambda so=moment: so(floor.lab), START, 0.2)  # type: ignore[misc]
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert chat(floor.lab)[0] == 503
    switched(floor, "split")
    assert pool(floor.lab) == [BACKEND]
    assert group(floor)["state"] == "running"
