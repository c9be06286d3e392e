"""A group is one thing: whatever happens to one of its parts, both begin anew together, and nobody has to help.

The goal: it generates again within one start of the engine and ten seconds of when everything can be reached.
"""

from __future__ import annotations

import json
import time

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import deployed, pool, stays
from tests.lab.faults import kill
from tests.lab.floor import Floor
from tests.lab.groups import GROUP, LOAD, UNIT, Generations, generates, split_site, state, told
from tests.lab.sites import DOCKER, MODEL, proxy
from tests.load.running import Running

GOAL = LOAD + 10
SLOW = 2 * GOAL  # a machine that is busy with something else


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to in mode split, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), split_site(clean_lab), "split")


@pytest.fixture
def generations(floor: Floor) -> Generations:
    """Each test begins with a group that generates, and looks at its generations from then on."""
    found = Generations(floor.lab)
    found.until("the group generates", lambda: generates(floor.lab), SLOW)
    return found


def parts(lab: Lab) -> list[str]:
    """What systemd says of both parts."""
    show = ["systemctl", "show", "-p", "ActiveState", "--value", UNIT]
    return [box.run(show).stdout.strip() for box in lab.boxes.values()]


def healed(generations: Generations, what: str, before: str | None) -> None:
    """Wait until the group generates under another generation than before, of which both ranks are; say how long."""
    lab = generations.lab

    def whole() -> bool:
        here = [told(box) for box in lab.boxes.values()]
        now = {one["generation"] if one is not None and one["phase"] == "running" else None for one in here}
        return len(now) == 1 and now.isdisjoint({None, before}) and generates(lab)

    took = generations.until(what, whole, SLOW)
    worlds = [found and found["world"] for found in map(state, lab.boxes.values())]
    print(f"{what}: generates again after {took:.1f} s, {took - LOAD:.1f} s beside the load; goal {GOAL:.0f} s")
    print(f"  generations: {generations.seen}")
    assert worlds[0] == worlds[1] is not None
    lag = generations.until("it is in both pools", lambda: in_both_pools(lab), SLOW)
    print(f"  in both pools {lag:.1f} s later")
    assert parts(lab) == ["active", "active"]


def said(floor: Floor) -> str:
    """What `floor status` says of the group, in its own words: its state and why."""
    document = json.loads(floor("status", "--json", code=None).stdout)
    (group,) = [one["group"] for one in document["backends"] if one.get("group")]
    return f"{group['state']}: {group['why']}"


def in_both_pools(lab: Lab) -> bool:
    """Whether both proxies have the group as their only member."""
    return all(pool(lab, name) == [GROUP] for name in lab.boxes)


def generation(box: Box) -> str:
    found = told(box)
    assert found is not None
    assert found["generation"] is not None
    return str(found["generation"])


def test_both_parts_run_and_no_copy_does(floor: Floor, generations: Generations) -> None:
    lab = floor.lab
    assert parts(lab) == ["active", "active"]
    assert [one["part"] for box in lab.boxes.values() if (one := told(box))] == ["head", "worker"]
    assert len({generation(box) for box in lab.boxes.values()}) == 1
    assert said(floor).startswith("running")
    for box in lab.boxes.values():
        assert box.run(["systemctl", "is-active", f"floor-copy-{MODEL}.service"], check=False).returncode != 0
        assert box.run(["systemctl", "is-enabled", f"floor-copy-{MODEL}.service"]).stdout.strip() == "enabled"
    assert floor("deploy").stdout.strip() == "nothing to do"


@pytest.mark.parametrize("name", ["boxb", "boxa"], ids=["worker", "head"])
def test_a_rank_is_killed(floor: Floor, generations: Generations, name: str) -> None:
    box = floor.lab.boxes[name]
    before = generation(box)
    kill(box, box.pid(UNIT))
    generations.until("somebody says so", lambda: parts(floor.lab) != ["active", "active"], 5)
    healed(generations, f"the rank of {name} is killed", before)


@pytest.mark.parametrize("name", ["boxb", "boxa"], ids=["worker", "head"])
def test_a_box_loses_its_power(floor: Floor, generations: Generations, name: str) -> None:
    lab, box = floor.lab, floor.lab.boxes[name]
    other = next(one for one in lab.boxes.values() if one is not box)
    before = generation(box)
    box.power_cut()

    def waits() -> bool:
        found = told(other)
        return found is not None and found["phase"] == "waiting"

    took = generations.until("the other part ends and waits", waits, 30)
    print(f"without {name}, the other part is back at its gate after {took:.1f} s")
    assert state(other) is None
    assert said(floor).startswith("degraded: ")
    assert f"on {name} " in said(floor)
    box.boot()
    healed(generations, f"{name} is switched on again", before)


def test_the_fabric_is_cut(floor: Floor, generations: Generations) -> None:
    lab = floor.lab
    before = generation(lab.boxes["boxa"])
    lab.boxes["boxb"].cut_fabric()

    def both_wait() -> bool:
        return all((one := told(box)) is not None and one["phase"] == "waiting" for box in lab.boxes.values())

    took = generations.until("both parts end and wait", both_wait, 30)
    print(f"without the fabric, both parts are back at their gates after {took:.1f} s")

    def rests() -> bool:
        return all((one := told(box)) is None or one["phase"] == "waiting" for box in lab.boxes.values())

    stays("no rank goes", rests, 2)
    assert both_wait()
    assert "running" not in said(floor)
    assert [state(box) for box in lab.boxes.values()] == [None, None]
    lab.boxes["boxb"].heal_fabric()
    healed(generations, "the fabric is healed", before)


@pytest.mark.parametrize("name", ["boxb", "boxa"], ids=["worker", "head"])
def test_a_part_is_restarted_by_hand_under_load(floor: Floor, generations: Generations, name: str) -> None:
    """Whoever is restarted: the whole group leaves its pools first, and what runs is finished."""
    lab, box = floor.lab, floor.lab.boxes[name]
    before = generation(box)
    options = ("--clients", "4", "--tokens", "50", "--stream", "yes")
    with Running(proxy(lab, "boxa"), MODEL, *options, enter=lab.client.enter()) as running:
        began = time.monotonic()
        box.run(["systemctl", "restart", "--no-block", UNIT])
        healed(generations, f"the part of {name} is restarted", before)
        report = running.stop()
    back = max(failure["end"] for failure in report.failures) - began
    print(f"restart of {name} under load: answered again after {back:.1f} s, goal {GOAL:.0f} s: {report}")
    assert back <= 2 * GOAL
    assert set(report.statuses) <= {"200", "503"}, report
    assert [failure for failure in report.failures if "503" not in str(failure)] == []


def test_a_part_waits_for_longer_than_a_start_may_take(floor: Floor, generations: Generations) -> None:
    lab = floor.lab
    before = generation(lab.boxes["boxa"])
    for box in lab.boxes.values():
        box.put(f"/run/systemd/system/{UNIT}.d/short.conf", "[Service]\nTimeoutStartSec=5\n")
        box.run(["systemctl", "daemon-reload"])
    lab.boxes["boxb"].run(["systemctl", "stop", UNIT])
    waits = ["activating", "inactive"]
    generations.until("the head is at its gate alone", lambda: parts(lab) == waits, 30)
    stays("it waits for longer than a start may take", lambda: parts(lab) == waits, 7)
    show = ["systemctl", "show", "-p", "NRestarts", "--value", UNIT]
    assert int(lab.boxes["boxa"].run(show).stdout) <= 1
    for box in lab.boxes.values():
        box.run(["rm", "-r", f"/run/systemd/system/{UNIT}.d"])
        box.run(["systemctl", "daemon-reload"])
    lab.boxes["boxb"].run(["systemctl", "start", "--no-block", UNIT])
    healed(generations, "the worker is started again", before)


def test_a_part_that_is_ended_for_the_others_does_not_use_up_its_own_starts(
    floor: Floor, generations: Generations
) -> None:
    lab = floor.lab
    head, worker = lab.boxes["boxa"], lab.boxes["boxb"]
    before = generation(head)
    head.put(f"/run/systemd/system/{UNIT}.d/few.conf", "[Unit]\nStartLimitBurst=2\n")
    head.run(["systemctl", "daemon-reload"])
    for _ in range(3):
        found = generation(worker)
        kill(worker, worker.pid(UNIT))

        def again(found: str = found) -> bool:
            one = told(worker)
            return one is not None and one["phase"] == "running" and one["generation"] != found

        generations.until("the worker goes with another start of the head", again, 30)
    head.run(["rm", "-r", f"/run/systemd/system/{UNIT}.d"])
    head.run(["systemctl", "daemon-reload"])
    healed(generations, "the worker was killed three times", before)


def test_parts_in_containers_heal_the_same_way(floor: Floor, generations: Generations) -> None:
    """Killing docker's client leaves a container behind, outside of the unit: the part ends all the same."""
    lab = floor.lab
    floor.edit("tensor_parallel: 2}", f"tensor_parallel: 2, runtime: {DOCKER}}}")
    floor("deploy", "--force", "--ungated")  # its only group is away meanwhile, and becomes another build
    assert parts(lab) == ["active", "active"]
    before = generation(lab.boxes["boxa"])
    kill(lab.boxes["boxa"], lab.boxes["boxa"].pid(UNIT))
    healed(generations, "docker's client of the head is killed", before)
    before = generation(lab.boxes["boxa"])
    lab.boxes["boxb"].run(["docker", "kill", UNIT.removesuffix(".service")])
    healed(generations, "the worker's container is killed", before)


def test_every_part_was_ended_with_a_reason(floor: Floor) -> None:
    for box in floor.lab.boxes.values():
        said = box.run(["journalctl", "-u", "floor-group", "-o", "cat", "--no-pager"]).stdout
        lines = [line for line in said.splitlines() if "is ended, to begin anew" in line]
        print("\n".join(lines))
        assert lines
        assert all(line.partition("group: ")[2] for line in lines)
        assert not [line for line in said.splitlines() if "Traceback" in line or "denied" in line.lower()], said
