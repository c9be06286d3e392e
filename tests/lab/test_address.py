"""The address that the proxies share, under load: power cuts, an nginx that goes, a partition, planned handovers."""

from __future__ import annotations

import json
import time

import pytest

from tests.lab import faults
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import deployed, in_both, pool, status, stays, until
from tests.lab.floor import Floor
from tests.lab.shared import UNIT, Watched, holders, one, served, shared
from tests.lab.sites import PORT, site
from tests.load.running import Running

POWER, NGINX, HEALED = 3.0, 4.0, 2.0  # seconds; a test fails beyond twice as long
TAKES = 2.5  # seconds; longer than a box that may have the address takes to take it
STAYS = "/run/systemd/system/floor-proxy.service.d/stays.conf"
DROP_VRRP = """\
table inet lab_vrrp {
  chain input { type filter hook input priority -300; policy accept; ip protocol vrrp drop; }
}
"""


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Two proxy boxes that share an address, deployed to once for this module."""
    text = site(clean_lab, requests=16).replace(f"listen: {PORT},", f"listen: {PORT}, address: {shared(clean_lab)},")
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), text)


@pytest.fixture(autouse=True)
def whole(floor: Floor) -> None:
    """Each test begins with both copies in both pools, and the address on one box."""
    until("both copies in both pools", lambda: in_both(floor.lab), 60)
    until("one holder", lambda: bool(one(floor.lab)), 20)
    for box in floor.lab.boxes.values():
        box.run(["systemctl", "is-active", UNIT])


def load(floor: Floor, *options: str) -> Running:
    url = f"http://{shared(floor.lab)}:{PORT}"
    words = ["--clients", "16", "--tokens", "40", "--timeout", "8", *options]
    return Running(url, "flagship", *words, enter=floor.lab.client.enter())


def _up(box: Box) -> bool:
    return box.run(["systemctl", "is-active", "--quiet", UNIT], check=False).returncode == 0


def test_one_box_holds_it_and_everybody_is_told(floor: Floor) -> None:
    lab = floor.lab
    holder = one(lab)
    found = status(floor)
    assert found["address"] == {"address": shared(lab), "holders": [holder]}
    assert not [line for line in found["warnings"] if shared(lab) in line]
    assert f"ok  {shared(lab)} (held by {holder}): streamed chat" in floor("verify").stdout
    # what somebody changed there is put right, keepalived reads it, and nothing moves
    lab.boxes[holder].run(["sed", "-i", "s/^    priority .*/    priority 7/", "/etc/floor/keepalived/keepalived.conf"])
    with Watched(lab) as watched:
        assert f"reload {UNIT}" in floor("deploy").stdout
        assert "nothing to do" in floor("deploy").stdout
    assert (watched.both, watched.nobody, one(lab)) == (0, 0, holder)
    assert served(lab, time.monotonic(), 5) < 5
    # what is asked each second is not in the log
    assert "/floor/health" not in lab.boxes[holder].run(["journalctl", "-t", "floor_proxy", "-o", "cat"]).stdout


def test_a_proxy_box_that_loses_its_power(floor: Floor) -> None:
    lab, box = floor.lab, floor.lab.boxes[one(floor.lab)]
    other = next(name for name in lab.boxes if name != box.name)
    with load(floor) as running, Watched(lab) as watched:
        cut = time.monotonic()
        box.power_cut()
        took = served(lab, cut, 2 * POWER)
        box.boot()
        until("it could take the address", lambda: _up(box), 30)
        stays("a box that comes back takes nothing away", lambda: one(lab) == other, TAKES)
        report = running.stop()
    late = [failure for failure in report.failures if failure["start"] > cut + 2 * POWER]
    print(f"served {took:.2f} s after the power cut (goal {POWER:g}), both {watched.both:.2f} s: {report}")
    assert watched.both == 0
    assert late == []
    assert report.statuses.keys() <= {"200", "503", "error"}


@pytest.mark.parametrize("how", ["killed", "hung"])
def test_nginx_does_not_answer_where_the_address_is(floor: Floor, how: str) -> None:
    lab, box = floor.lab, floor.lab.boxes[one(floor.lab)]
    nginx = box.pid("floor-proxy.service")
    with Watched(lab) as watched:
        if how == "killed":
            box.put(STAYS, "[Service]\nRestart=no\n")  # or it is back in a second
            box.run(["systemctl", "daemon-reload"])
        began = time.monotonic()
        if how == "killed":
            box.run(["kill", "-KILL", str(nginx)])
        else:
            faults.freeze(box, nginx)
        took = served(lab, began, 2 * NGINX)
        away = until("on the other box", lambda: one(lab) not in ("", box.name), 2 * NGINX)
        if how == "killed":
            box.run(["rm", STAYS])
            box.run(["systemctl", "daemon-reload"])
            box.run(["systemctl", "start", "floor-proxy.service"])
        else:
            faults.thaw(box, nginx)
        answers = "curl -s -o /dev/null -m 1 http://127.0.0.1:$0/floor/health"
        until("nginx answers there", lambda: box.run(["sh", "-c", answers, str(PORT)], check=False).returncode == 0, 20)
        stays("an nginx that comes back takes nothing away", lambda: one(lab) != box.name, 1 + TAKES)
    print(
        f"nginx {how}: served after {took:.2f} s (goal {NGINX:g}), moved {away:.2f} s later, both {watched.both:.2f} s"
    )
    assert watched.both == 0


def test_an_empty_pool_moves_nothing(floor: Floor) -> None:
    lab, holder = floor.lab, one(floor.lab)
    for box in lab.boxes.values():
        box.run(["systemctl", "stop", "floor-copy-flagship.service"])
    until("the pools are empty", lambda: not any(pool(lab, name) for name in lab.boxes), 30)
    stays("an empty pool moves nothing", lambda: holders(lab) == [holder], 1 + TAKES)
    for box in lab.boxes.values():
        box.run(["systemctl", "start", "--no-block", "floor-copy-flagship.service"])


def test_after_a_partition_one_lets_go(floor: Floor) -> None:
    lab = floor.lab
    for box in lab.boxes.values():
        box.run(["nft", "-f", "-"], input=DROP_VRRP)
    until("both hold it, each alone", lambda: len(holders(lab)) == 2, 10)
    found = status(floor)
    assert any("both hold" in line and "VRRP" in line for line in found["warnings"])
    for box in lab.boxes.values():
        box.run(["nft", "delete", "table", "inet", "lab_vrrp"])
    healed = time.monotonic()
    until("one holds it", lambda: bool(one(lab)), 2 * HEALED)
    took = time.monotonic() - healed
    answered = served(lab, healed, 10)
    print(f"one holder {took:.2f} s after the partition healed (goal {HEALED:g}), served {answered:.2f} s after it")


def test_a_cable_that_is_pulled(floor: Floor) -> None:
    lab, box = floor.lab, floor.lab.boxes[one(floor.lab)]
    with Watched(lab) as watched:
        pulled = time.monotonic()
        box.partition()
        took = served(lab, pulled, 2 * POWER)
        other = next(name for name in lab.boxes if name != box.name)
        until("the other box has it", lambda: other in holders(lab), 10)
        box.heal()
        healed = time.monotonic()
        until("one holds it", lambda: bool(one(lab)), 2 * HEALED)
        stays("it stays on the other box", lambda: one(lab) == other, TAKES)
    told = watched.last - healed if watched.last > healed else 0.0
    print(f"served {took:.2f} s after the cable was pulled, both until {told:.2f} s after that (goal {HEALED:g})")
    assert told <= 2 * HEALED


@pytest.mark.parametrize("how", ["address", "nginx"])
def test_a_planned_handover_loses_nothing(floor: Floor, how: str) -> None:
    """The service of the address is stopped, or nginx restarted where it is: streams go on, and so do new requests."""
    lab, box = floor.lab, floor.lab.boxes[one(floor.lab)]
    with load(floor, "--stream", "yes") as running, Watched(lab) as watched:
        began = time.monotonic()
        box.run(
            ["systemctl", *(["stop", UNIT] if how == "address" else ["restart", "floor-proxy.service"])], timeout=90
        )
        took = time.monotonic() - began
        until("on the other box", lambda: one(lab) not in ("", box.name), 5)
        stays("it stays there, under load", lambda: one(lab) not in ("", box.name), TAKES)
        report = running.stop()
    box.run(["systemctl", "start", UNIT])
    spanning = report.spanning(began)
    print(f"handed over ({how}) in {took:.1f} s, {spanning} requests open, nobody {watched.nobody:.2f}: {report}")
    assert one(lab) not in ("", box.name)
    assert report.spanning(began) >= 8
    assert report.failures == []
    assert watched.both == 0
    for each in lab.boxes.values():
        tables = each.run(["nft", "list", "tables"]).stdout
        assert "floor_address" not in tables, f"{each.name}: something of the handover is left"


def test_floor_reboots_the_box_that_holds_it(floor: Floor) -> None:
    """Who uses the shared address notices nothing."""
    lab, box = floor.lab, floor.lab.boxes[one(floor.lab)]
    with load(floor) as running:
        command = floor.start("reboot", box.name)
        box.boot_again()
        said, _ = command.communicate(timeout=240)
        report = running.stop()
    print(f"{said}\nrebooted under load: {report}")
    assert command.returncode == 0
    assert one(lab) not in ("", box.name)
    assert report.failures == []
    assert report.statuses == {"200": report.sent}


def test_somebody_else_has_the_address(floor: Floor) -> None:
    """The client's machine takes it: nobody of floor's starts beside it, and a deployment says who it is."""
    lab = floor.lab
    for box in lab.boxes.values():
        box.run(["systemctl", "stop", "--no-block", UNIT])
    until("nobody holds it", lambda: not holders(lab) and not any(_up(box) for box in lab.boxes.values()), 20)
    lab.client.run(["ip", "address", "add", f"{shared(lab)}/32", "dev", "eth0"])
    try:
        mac = json.loads(lab.client.run(["ip", "-j", "link", "show", "eth0"]).stdout)[0]["address"]
        refused = floor("deploy", code=1)
        assert f"{shared(lab)} is taken: {mac} on eth0" in refused.stderr
        box = next(iter(lab.boxes.values()))
        box.run(["systemctl", "start", UNIT], check=False)
        assert mac in box.run(["journalctl", "-u", UNIT, "-o", "cat", "-n", "20"]).stdout
        assert holders(lab) == []
    finally:
        lab.client.run(["ip", "address", "delete", f"{shared(lab)}/32", "dev", "eth0"])
    for box in lab.boxes.values():
        box.run(["systemctl", "restart", "--no-block", UNIT])
    until("one holds it", lambda: bool(one(lab)), 20)
