"""The firewall in a deployment: there before anything serves, wide enough in between, and put back by the next one."""

from __future__ import annotations

import pytest

from floor.desired.firewall import UNIT
from floor.errors import FloorError
from floor.operations.status import status
from floor.plan.firewalls import _rule
from tests.simulated.box import engine_rules
from tests.simulated.situation import THREE_BOXES, Situation

BOTH = {"flagship@spark-a", "flagship@spark-b"}
ONE_PROXY = "proxy: {boxes: [spark-a]}"
UFW = (
    "spark-b: ufw drops what no rule of its own lets in: 192.0.2.11 must reach tcp 8000, 8099: "
    "`ufw allow proto tcp from 192.0.2.11 to any port 8000,8099`"
)
MINE = (
    "spark-b: the table inet mine drops what no rule of its own lets in: clients must reach tcp 8080: "
    "`nft insert rule inet mine INPUT tcp dport { 8080 } accept`; 192.0.2.11 must reach tcp 8000, 8099: "
    "`nft insert rule inet mine INPUT ip saddr { 192.0.2.11 } tcp dport { 8000,8099 } accept`"
)
TWO_PROXIES = "proxy: {boxes: [spark-a, spark-b]}"


def admitted(situation: Situation, box: str = "spark-a") -> set[str]:
    rules = situation.box(box).rules
    assert rules is not None
    return set(engine_rules(rules)[1])


def test_no_engine_has_started_without_it(situation: Situation) -> None:
    def look() -> None:
        for box in situation.world.boxes.values():
            assert box.rules is not None or "floor-copy-flagship.service" not in box.processes

    situation.world.watch = look
    situation.deploy()
    assert [admitted(situation, box) for box in situation.world.boxes] == [{"192.0.2.11", "192.0.2.12"}] * 2
    assert not situation.deploy()


def test_other_rules_are_loaded_and_nothing_restarts(deployed: Situation) -> None:
    before = {name: dict(box.processes) for name, box in deployed.world.boxes.items()}
    deployed.edit("proxy: {boxes", "proxy: {allow: [203.0.113.9], boxes")
    _, plan = deployed.deployment().look()
    assert [stage.title for stage in plan.stages] == ["guard the boxes", "record the file"]
    deployed.deploy()
    assert admitted(deployed) == {"192.0.2.11", "192.0.2.12", "203.0.113.9"}
    assert {name: dict(box.processes) for name, box in deployed.world.boxes.items()} == before
    assert not deployed.deploy()


@pytest.mark.parametrize(("left", "why"), [(None, "taken it away"), ("table inet floor {}", "changed them")])
def test_what_somebody_did_to_the_table_is_seen_and_undone(deployed: Situation, left: str | None, why: str) -> None:
    box = deployed.box("spark-b")
    box.rules = left
    told = status(deployed.site())["warnings"]
    assert len(told) == 1
    assert told[0].startswith("spark-b: ")
    assert "floor deploy" in told[0]
    _, plan = deployed.deployment().look()
    assert [(step.box, step.call) for step in plan.stages[0].steps] == [("spark-b", "unit.reload")]
    assert why in plan.stages[0].steps[0].why
    deployed.deploy()
    assert box.rules == box.text("/etc/floor/firewall.nft")
    assert deployed.starts("spark-b") == 1
    assert not deployed.deploy()


@pytest.mark.parametrize("old_first", [True, False])
def test_a_proxy_that_comes_or_goes_reaches_every_engine_as_long_as_it_serves(
    situation: Situation, old_first: bool
) -> None:
    """A new one is let in before its pool looks; one that is to go, until its nginx is gone."""
    new = "proxy: {boxes: [spark-c, spark-b]}" if old_first else "proxy: {boxes: [spark-b, spark-c]}"
    situation.text = THREE_BOXES
    situation.deploy()
    situation.edit(TWO_PROXIES, new)
    seen: list[set[str]] = []

    def look() -> None:
        for name, box in situation.world.boxes.items():
            if box.processes.get("floor-proxy.service") and name != "spark-c":
                seen.append(situation.world.answering(name))

    situation.world.watch = look
    situation.deploy()
    assert set(map(frozenset, seen)) == {frozenset(BOTH)}
    assert admitted(situation) == {"192.0.2.12", "192.0.2.13"}
    assert situation.members() == [BOTH, BOTH]
    assert not situation.deploy()


def test_a_dry_run_shows_that_what_goes_is_closed_at_last(deployed: Situation) -> None:
    deployed.edit(TWO_PROXIES, ONE_PROXY)
    _, plan = deployed.deployment().look()
    titles = [stage.title for stage in plan.stages]
    assert titles.index("take away services") < titles.index("close what is no longer needed")
    deployed.deploy()
    assert admitted(deployed) == {"192.0.2.11"}


def test_a_box_that_loses_its_part_loses_the_firewall_last(deployed: Situation) -> None:
    deployed.text = deployed.text.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a]")
    deployed.edit(TWO_PROXIES, ONE_PROXY)
    deployed.deploy(force=True)
    box = deployed.box("spark-b")
    assert (box.rules, box.text("/etc/floor/firewall.nft"), UNIT in box.processes) == (None, None, False)
    assert not deployed.deploy()


def test_a_box_without_nftables_is_named_before_anything_changes(situation: Situation) -> None:
    situation.site()
    situation.box("spark-b").nftables = False
    line = "spark-b: nftables is not installed, so nothing would guard its engines; run `floor setup spark-b`"
    with pytest.raises(FloorError) as caught:
        situation.deploy()
    assert str(caught.value) == f"nothing was changed:\n  {line}"


def test_other_peoples_firewalls_are_named_with_the_rule_that_they_lack(deployed: Situation) -> None:
    drop = {"family": "ip", "table": "filter", "chain": "INPUT", "by": "ufw", "ports": [22, 8080]}
    deployed.box("spark-b").firewalls = [drop]
    _, plan = deployed.deployment().look()
    assert list(plan.notes) == [UFW]
    assert not plan.stages
    drop["ports"] = [22, 8000, 8080, 8099]
    assert deployed.deployment().look()[1].notes == ()
    deployed.box("spark-b").firewalls = [{**drop, "by": "", "table": "mine", "family": "inet", "ports": []}]
    assert list(deployed.deployment().look()[1].notes) == [MINE]
    deployed.box("spark-b").firewalls = [{**drop, "by": "firewalld", "ports": [8000, 8099]}]
    assert deployed.deployment().look()[1].notes[0].endswith("`firewall-cmd --permanent --add-port=8080/tcp`")


@pytest.mark.parametrize(
    ("by", "rule"),
    [
        ("ufw", "ufw allow proto tcp from {} to any port 8000"),
        ("firewalld", "firewall-cmd --permanent --zone=trusted --add-source={}"),
    ],
)
def test_a_rule_is_named_for_each_proxy(by: str, rule: str) -> None:
    senders, other = ["192.0.2.11", "192.0.2.12"], {"by": by, "family": "ip", "table": "filter", "chain": "INPUT"}
    assert _rule(other, ", ".join(senders), "8000") == " && ".join(rule.format(one) for one in senders)


def test_a_rule_of_nftables_keeps_the_two_families_apart() -> None:
    other = {"by": "", "family": "inet", "table": "mine", "chain": "INPUT"}
    assert _rule(other, "192.0.2.11, 2001:db8::1", "8000") == (
        "nft insert rule inet mine INPUT ip saddr { 192.0.2.11 } tcp dport { 8000 } accept && "
        "nft insert rule inet mine INPUT ip6 saddr { 2001:db8::1 } tcp dport { 8000 } accept"
    )


@pytest.mark.parametrize(("direct", "done"), [("deny", "kept off"), ("warn", "let through")])
def test_status_names_who_went_past_the_proxy(deployed: Situation, direct: str, done: str) -> None:
    deployed.edit("proxy: {boxes", f"proxy: {{direct: {direct}, boxes")
    deployed.deploy()
    came = [{"address": f"203.0.113.{n}", "connections": 9 - n} for n in range(7)]
    deployed.box("spark-a").direct = came
    found = status(deployed.site())
    assert found["boxes"]["spark-a"]["firewall"]["direct"] == came
    assert "\n".join(found["warnings"]) == (
        f"spark-a: connections to its engines past the proxy, {done}: 203.0.113.0 (9), 203.0.113.1 (8), "
        "203.0.113.2 (7), 203.0.113.3 (6), 203.0.113.4 (5) and 2 more"
    )
