"""Names that do not resolve, and servers that floor does not manage: what they are allowed to change."""

from __future__ import annotations

import pytest

from floor.errors import FloorError, RefusedError
from tests.simulated.situation import THREE_BOXES, TWO_BOXES, Situation
from tests.unit.operations.test_outages import BOTH, fewest

MAC = THREE_BOXES.replace("spark-c: {host: 192.0.2.13}", "mac: {host: 192.0.2.20, managed: false}")


def test_an_external_server_that_alone_serves_is_not_dropped_unasked(situation: Situation) -> None:
    """nginx would send it the engines' key: it leaves the pools before the copies that follow it are up."""
    lines = [line for line in MAC.splitlines() if not line.strip().startswith(("source", "utilization", "runtime"))]
    situation.text = "\n".join(lines).replace("replicas: [spark-a, spark-b]", "replicas: [mac]")
    situation.deploy()
    situation.world.sleep(3)
    assert situation.members() == [{"flagship@mac"}] * 2
    situation.text = MAC
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        situation.deploy()
    both = MAC.replace("replicas: [spark-a, spark-b]", "replicas: [mac, spark-a, spark-b]")
    situation.text = both
    found = fewest(situation, "spark-a", "spark-b")
    assert situation.deploy()
    situation.text = MAC
    assert situation.deploy()
    assert min(found) >= 1
    assert situation.members() == [BOTH, BOTH]
    assert not situation.deploy()


def test_a_name_that_does_not_resolve_now_changes_nothing(situation: Situation) -> None:
    """DNS fails on the laptop: no engine gets another address, no backend leaves a pool."""
    situation.text = TWO_BOXES.replace("192.0.2.12", "spark-b.lan")
    situation.names = {"spark-b.lan": "192.0.2.12"}
    situation.deploy()
    situation.names = {"spark-b.lan": None}
    with pytest.raises(
        FloorError, match=r"nothing was changed:\n  spark-b: spark-b.lan has no address now; write its IP"
    ):
        situation.deploy(force=True)
    assert situation.members() == [BOTH, BOTH]


def test_a_name_that_means_this_machine_only_is_named(situation: Situation) -> None:
    """Debian's /etc/hosts gives a box's own name 127.0.1.1."""
    situation.text = TWO_BOXES.replace("192.0.2.12", "spark-b.lan")
    situation.names = {"spark-b.lan": "127.0.1.1"}
    with pytest.raises(FloorError, match=r"spark-b: spark-b.lan means 127.0.1.1 here, which other boxes cannot reach"):
        situation.deploy()


def test_an_external_server_without_an_address_is_left_out_and_named(situation: Situation) -> None:
    situation.text = MAC.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-b, mac]").replace(
        "192.0.2.20", "mac.lan"
    )
    situation.names = {"mac.lan": "192.0.2.20"}
    situation.deploy()
    situation.names = {"mac.lan": None}
    _, plan = situation.deployment().look()
    assert plan.notes == (
        "afterwards the pools forget flagship@mac",
        "mac: mac.lan has no address now; what it holds is in no pool until a deployment finds one",
    )
    assert situation.deploy()
    assert situation.members() == [BOTH, BOTH]
