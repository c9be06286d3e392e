"""Copies in Docker: whatever happens to client, daemon or container, there is one container at most and the truth."""

from __future__ import annotations

import json

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, deployed, invocations, pool, status, until
from tests.lab.floor import Floor
from tests.lab.sites import DOCKER, proxy, site
from tests.load.running import Running

CONTAINER = "floor-copy-flagship"


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to in Docker, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab, DOCKER))


@pytest.fixture(autouse=True)
def whole(floor: Floor) -> None:
    """Each test begins with both copies in both pools."""
    boxes = floor.lab.boxes
    until("both copies in both pools", lambda: all(len(pool(floor.lab, box)) == 2 for box in boxes), 60)


def containers(floor: Floor, box: str = "boxb") -> list[str]:
    """The containers of a box, stopped ones too."""
    names = floor.lab.boxes[box].run(["docker", "ps", "-a", "--format", "{{.Names}}"]).stdout.split()
    return [name for name in names if name == CONTAINER]


def engines(floor: Floor, box: str = "boxb") -> list[str]:
    """The engine processes of a box, in a container or not."""
    rows = floor.lab.boxes[box].run(["ps", "axww", "-o", "pid=,args="]).stdout.splitlines()
    return [row for row in rows if " floor.sim serve " in row and "docker" not in row]


def comes_back(floor: Floor) -> None:
    """Out of the pool, then in it again, with one container and one engine."""
    box = floor.lab.boxes["boxb"]
    out = until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
    back = until("in the pool", lambda: len(pool(floor.lab)) == 2, 60)
    print(f"out after {out:.2f} s, back after {back:.2f} s more")
    assert box.run(["systemctl", "is-active", UNIT]).stdout == "active\n"
    assert containers(floor) == [CONTAINER]
    assert len(engines(floor)) == 1


def test_it_answers_and_again_there_is_nothing_to_do(floor: Floor) -> None:
    code, body = chat(floor.lab, stream=True)
    assert code == 200
    assert body.rstrip().endswith("data: [DONE]")
    before = invocations(floor.lab)
    assert floor("deploy").stdout.strip() == "nothing to do"
    assert invocations(floor.lab) == before


def test_the_engine_in_the_container_runs_as_planned(floor: Floor) -> None:
    box = floor.lab.boxes["boxa"]
    told = json.loads(box.run(["docker", "inspect", CONTAINER]).stdout)[0]
    assert told["HostConfig"]["RestartPolicy"]["Name"] in ("", "no")
    assert told["HostConfig"]["NetworkMode"] == "host"
    assert told["Args"][told["Args"].index("--max-num-seqs") + 1] == "4"
    key = box.read("/etc/floor/secrets/engine.key").strip()
    assert key not in box.run(["ps", "axww", "-o", "args="]).stdout


def test_client_process_killed(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    box.run(["kill", "-KILL", str(box.pid(UNIT))])
    comes_back(floor)


def test_container_removed_by_hand(floor: Floor) -> None:
    floor.lab.boxes["boxb"].run(["docker", "rm", "-f", CONTAINER])
    comes_back(floor)


def test_daemon_restarted(floor: Floor) -> None:
    floor.lab.boxes["boxb"].run(["systemctl", "restart", "docker"], timeout=120)
    comes_back(floor)


def test_stopping_leaves_nothing_and_loses_no_request(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    options = ("--clients", "6", "--tokens", "40", "--stream", "yes")
    with Running(proxy(floor.lab), "flagship", *options, enter=floor.lab.client.enter()) as running:
        box.run(["systemctl", "stop", UNIT], timeout=120)
        report = running.stop()
    print(f"stopped by hand in Docker: {report}")
    assert report.failures == []
    assert report.sent > 6
    until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
    assert containers(floor) == []
    assert engines(floor) == []
    assert box.run(["systemctl", "is-failed", UNIT], check=False).stdout == "inactive\n"
    entry = next(each for each in status(floor)["backends"] if each["backend"] == "flagship@boxb")
    assert (entry["unit"], entry["member"]["boxa"]) == ("inactive", False)
    floor("deploy")


def test_another_image_of_the_same_name_is_seen_and_replaces_one_copy(floor: Floor) -> None:
    before = invocations(floor.lab)
    box = floor.lab.boxes["boxb"]
    box.run(["docker", "tag", "floor-lab/base:2", "floor-lab/base:1"])
    assert "flagship@boxb: its build becomes another (image sha256:" in floor("deploy", code=5).stderr
    shown = floor("deploy", "--ungated", "--dry-run", code=3).stdout
    assert "another image now" in shown
    floor("deploy", "--ungated")
    after = invocations(floor.lab)
    assert after["boxa"] == before["boxa"]
    assert {unit for unit, run in after["boxb"].items() if before["boxb"].get(unit) != run} == {UNIT}
    assert floor("deploy").stdout.strip() == "nothing to do"
