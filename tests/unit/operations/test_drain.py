"""`floor drain` and `floor undrain`: in every pool or in none, and who is told what."""

from __future__ import annotations

import pytest

from floor.errors import BoxError, FloorError, RefusedError, UsageError
from floor.operations import caller, drain
from tests.simulated.situation import TWO_BOXES, Situation


def take_out(situation: Situation, name: str = "flagship@spark-a", *, last: bool = False) -> None:
    site = situation.site()
    drain.drain(site, drain.find(site, name), situation.said.append, last=last)


def let_in(situation: Situation, name: str = "flagship@spark-a") -> None:
    site = situation.site()
    drain.undrain(site, drain.find(site, name), situation.said.append)


def test_out_of_every_pool_until_it_has_finished_and_back(deployed: Situation) -> None:
    take_out(deployed, "spark-a")
    assert deployed.members() == [{"flagship@spark-b"}] * 2
    assert deployed.said == ["flagship@spark-a is out of every pool", "flagship@spark-a has finished what it had"]
    assert deployed.box("spark-a").live_drains() == {"flagship@spark-a": [caller.name()]}
    let_in(deployed)
    assert deployed.said[-1] == "flagship@spark-a is in every pool"
    assert all(len(members) == 2 for members in deployed.members())


def test_the_last_member_needs_force(deployed: Situation) -> None:
    take_out(deployed)
    with pytest.raises(RefusedError, match="flagship@spark-b is the only member of flagship's pool"):
        take_out(deployed, "flagship@spark-b")
    assert deployed.members() == [{"flagship@spark-b"}] * 2
    take_out(deployed, "flagship@spark-b", last=True)
    assert deployed.members() == [set(), set()]


def test_a_pool_that_does_not_let_go_leaves_it_drained_nowhere(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"reached": False, "reason": "an nginx worker that still knows it takes connections", "state": {}}
    monkeypatch.setattr(deployed.box("spark-b").calls, "pool_wait", lambda _: told)
    with pytest.raises(FloorError, match=r"did not come out of spark-b's pool within 15 s: an nginx worker that still"):
        take_out(deployed)
    assert not any(box.live_drains() for box in deployed.world.boxes.values())


def test_a_proxy_box_that_is_gone_does_not_hinder_and_is_named(deployed: Situation) -> None:
    deployed.text = TWO_BOXES.replace("models:", "  spark-c: {host: 192.0.2.13}\nmodels:").replace(
        "replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-b, spark-c]"
    )
    deployed.deploy()
    deployed.box("spark-b").up = False
    with pytest.raises(BoxError, match="spark-b: no way there\nits pool still has flagship@spark-c; drain it again"):
        take_out(deployed, "flagship@spark-c")
    assert "flagship@spark-c is out of every pool that can be reached" in deployed.said
    assert "flagship@spark-c" in deployed.box("spark-a").live_drains()
    with pytest.raises(BoxError, match="undrain flagship@spark-c again once the box answers"):
        let_in(deployed, "flagship@spark-c")


def test_no_proxy_box_at_all(deployed: Situation) -> None:
    for box in deployed.world.boxes.values():
        box.up = False
    with pytest.raises(BoxError, match="no proxy box answers"):
        take_out(deployed)


def test_one_that_goes_on_working_is_told_after_its_time(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"idle": False, "running": 2, "waiting": 0, "reason": ""}
    monkeypatch.setattr(deployed.box("spark-a").calls, "engine_idle", lambda _: busy)
    take_out(deployed)
    assert deployed.said[-1] == "flagship@spark-a still works on 2 requests after 1800 s"


def test_what_was_not_drained_is_said(deployed: Situation) -> None:
    let_in(deployed)
    assert "flagship@spark-a was not drained on spark-b" in deployed.said


def test_one_that_cannot_come_back_says_why(deployed: Situation) -> None:
    deployed.box("spark-a").lose("floor-copy-flagship.service")
    deployed.world.sleep(2)
    with pytest.raises(FloorError, match=r"did not come into spark-a's pool within 15 s: as a test wants it; see"):
        let_in(deployed)


def test_one_that_was_kept_out_for_its_box_is_let_in_by_a_person_too(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    deployed.deploy()
    deployed.box("spark-b").up = True
    let_in(deployed, "flagship@spark-b")
    assert any("a deployment had not reached spark-b; deploy again" in line for line in deployed.said)


@pytest.mark.parametrize(
    ("name", "told"),
    [("mars", "mars: no backend is called that; there are flagship@spark-a, flagship@spark-b")],
)
def test_a_name_that_is_none(deployed: Situation, name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        take_out(deployed, name)


def test_a_box_with_several_backends_is_no_name_for_one(deployed: Situation) -> None:
    deployed.edit(
        "proxy:",
        "  small:\n    source: /models/small\n    port: 8001\n    listen: 8081\n    utilization: 0.2\n"
        '    runtime: {kind: docker, image: "registry.example/vllm:v1"}\n    replicas: [spark-b]\nproxy:',
    )
    with pytest.raises(UsageError, match="spark-b: several backends are called that"):
        take_out(deployed, "spark-b")
