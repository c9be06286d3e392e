"""The shared address: what is refused before, what is reloaded, what `floor status` and `floor verify` tell."""

from __future__ import annotations

import pytest

from floor.errors import FloorError
from floor.operations import checks, logs
from floor.operations.status import status
from tests.simulated.situation import Situation

SHARED, UNIT = "192.0.2.10", "floor-address.service"


@pytest.fixture
def sharing(situation: Situation) -> Situation:
    """Two proxy boxes that share an address, deployed to; the first one holds it."""
    _ready(situation)
    situation.edit("proxy: {boxes: [spark-a, spark-b]}", f"proxy: {{boxes: [spark-a, spark-b], address: {SHARED}}}")
    assert situation.deploy()
    _hold(situation, "spark-a")
    return situation


def _ready(situation: Situation) -> None:
    situation.site()
    for number, name in ((11, "spark-a"), (12, "spark-b")):
        networks = [{"interface": "eth0", "address": f"192.0.2.{number}", "prefix": 24}]
        situation.box(name).facts |= {"keepalived": True, "networks": networks, "addresses": [f"192.0.2.{number}"]}


def _hold(situation: Situation, *names: str) -> None:
    for number, name in ((11, "spark-a"), (12, "spark-b")):
        own = [f"192.0.2.{number}", *([SHARED] if name in names else [])]
        situation.box(name).facts |= {"addresses": own}


def _refused(situation: Situation) -> str:
    with pytest.raises(FloorError) as error:
        situation.deploy()
    return str(error.value)


def test_it_is_deployed_and_then_there_is_nothing_to_do(sharing: Situation) -> None:
    assert all(UNIT in sharing.box(name).starts for name in ("spark-a", "spark-b"))
    assert not sharing.deploy()


def test_after_nginx_not_before_it(sharing: Situation) -> None:
    starts = sharing.box("spark-a").starts
    assert starts.index("floor-proxy.service") < starts.index(UNIT)


def test_a_change_reloads_and_moves_nothing(sharing: Situation) -> None:
    sharing.box("spark-a").edit("/etc/floor/keepalived/keepalived.conf", "by hand")
    before = sharing.starts("spark-a", UNIT)
    assert sharing.deploy()
    assert sharing.starts("spark-a", UNIT) == before
    assert not sharing.deploy()


def test_a_file_that_was_written_and_not_read_is_read(sharing: Situation) -> None:
    """Whoever wrote it was killed before it told keepalived."""
    sharing.box("spark-a").read = "an older one"
    assert sharing.deploy()
    assert not sharing.deploy()


def test_a_newer_floor_leaves_it_alone(sharing: Situation) -> None:
    before = sharing.starts("spark-a", UNIT)
    sharing.release = "2"
    for box in sharing.world.boxes.values():
        box.release = "2"
    assert sharing.deploy()
    assert sharing.starts("spark-a", UNIT) == before


def test_without_it_the_service_goes(sharing: Situation) -> None:
    sharing.edit(f", address: {SHARED}", "")
    assert sharing.deploy()
    assert UNIT not in sharing.box("spark-a").processes
    assert not sharing.deploy()


def test_what_is_lacking_is_told_before_anything_changes(situation: Situation) -> None:
    _ready(situation)
    situation.edit("proxy: {boxes: [spark-a, spark-b]}", f"proxy: {{boxes: [spark-a, spark-b], address: {SHARED}}}")
    situation.box("spark-a").facts |= {"keepalived": False}
    situation.box("spark-b").facts |= {"networks": [{"interface": "eth1", "address": "10.0.0.1", "prefix": 8}]}
    told = _refused(situation)
    assert "spark-a: keepalived is not installed; run `floor setup spark-a`" in told
    assert (
        "spark-b: none of its networks holds 192.0.2.10 (eth1 10.0.0.1/8); write an `address` that lies in one" in told
    )
    assert not situation.box("spark-a").starts


def test_an_address_that_a_box_has_by_itself(situation: Situation) -> None:
    _ready(situation)
    _hold(situation, "spark-b")
    situation.edit("proxy: {boxes: [spark-a, spark-b]}", f"proxy: {{boxes: [spark-a, spark-b], address: {SHARED}}}")
    told = _refused(situation)
    assert "spark-b: has 192.0.2.10 already, and not from floor; take it off there, or write another `address`" in told


def test_an_address_that_a_stranger_has(situation: Situation) -> None:
    _ready(situation)
    situation.box("spark-a").strangers = ["02:00:00:00:00:09"]
    situation.edit("proxy: {boxes: [spark-a, spark-b]}", f"proxy: {{boxes: [spark-a, spark-b], address: {SHARED}}}")
    assert (
        "spark-a: 192.0.2.10 is taken: 02:00:00:00:00:09 on eth0 answers for it and is no proxy of floor's; "
        "take it from there, or write another `address`" in _refused(situation)
    )


def test_status_tells_who_holds_it(sharing: Situation) -> None:
    found = status(sharing.site())
    assert found["address"] == {"address": SHARED, "holders": ["spark-a"]}
    assert found["warnings"] == []


def test_status_tells_when_two_hold_it(sharing: Situation) -> None:
    _hold(sharing, "spark-a", "spark-b")
    (told,) = status(sharing.site())["warnings"]
    assert told == (
        "spark-a and spark-b both hold 192.0.2.10: they do not hear each other; look for what drops VRRP "
        "(IP protocol 112) between them"
    )


def test_status_tells_when_nobody_holds_it(sharing: Situation) -> None:
    _hold(sharing)
    del sharing.box("spark-b").processes[UNIT]
    assert status(sharing.site())["warnings"] == [
        "spark-b: floor-address is not running, so it cannot take 192.0.2.10 over",
        "nobody holds 192.0.2.10: who uses it gets no answer; see `floor logs address`",
    ]


def test_a_box_that_does_not_answer_may_hold_it(sharing: Situation) -> None:
    _hold(sharing)
    sharing.box("spark-b").up = False
    assert not [line for line in status(sharing.site())["warnings"] if "nobody holds" in line]


def test_verify_goes_through_it_from_a_box_that_does_not_hold_it(sharing: Situation) -> None:
    found = [finding for finding in checks.verify(sharing.site()) if SHARED in finding.where]
    assert [finding.where for finding in found] == ["192.0.2.10 (held by spark-a)"]
    assert all(finding.ok for finding in found)
    sent = [params for (call, _), params in sharing.world.sent.items() if call == "verify.chat" and "host" in params]
    assert [params["host"] for params in sent] == [SHARED]


@pytest.mark.parametrize(
    ("names", "what"), [((), "nobody holds it"), (("spark-a", "spark-b"), "is held by spark-a and spark-b")]
)
def test_verify_fails_where_it_is_not_held_by_one(sharing: Situation, names: tuple[str, ...], what: str) -> None:
    _hold(sharing, *names)
    found = [finding for finding in checks.verify(sharing.site()) if SHARED in finding.where]
    assert [(finding.ok, finding.what) for finding in found] == [(False, what)]


def test_a_reboot_says_what_becomes_of_it(sharing: Situation) -> None:
    assert sharing.reboot("spark-a")
    assert "note: whoever of them holds 192.0.2.10 hands it to another proxy box first" in sharing.said


def test_its_log_has_a_name(sharing: Situation) -> None:
    assert logs.wanted_units(sharing.site(), ["address"]) == {"spark-a": [UNIT], "spark-b": [UNIT]}
