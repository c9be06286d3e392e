"""From a place that is no box: engines, ranks and status ports are closed, the proxy is open, who tries is named.

Rules of somebody else lie on boxa from the beginning to the end.
"""

from __future__ import annotations

import pytest

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, invocations, set_up, status, until
from tests.lab.floor import Floor
from tests.lab.sites import site

ENGINE, STATUS, MASTER, EPHEMERAL = 8000, 8099, 29501, 40123
FABRIC = "10.99.0"  # a network of its own on the same wire
SHOP = """\
table ip shop {
  set regulars {
    type ipv4_addr
    elements = { 192.0.2.5, 192.0.2.6 }
  }
  chain till {
    type filter hook input priority 10; policy accept;
    ip saddr @regulars counter accept
  }
}
table inet guests {
  chain later {
    type filter hook input priority 20; policy accept;
    tcp dport 81 drop
  }
}
"""


def theirs(box: Box) -> str:
    """Every rule of a box but floor's, with the kernel's own numbers: a table that was made anew would show."""
    listed = box.run(["nft", "--handle", "list", "tables"]).stdout.splitlines()
    names = [line.split(" # ")[0].removeprefix("table ") for line in listed if "inet floor" not in line]
    tables = (box.run(["nft", "--handle", "list", "table", *name.split()]).stdout for name in names)
    return "".join([*(line for line in listed if "inet floor" not in line), *tables])


def opens(lab: Lab, address: str, port: int, sender: Box | None = None) -> bool:
    """Whether a connection from the client (or a box) to a port is taken within a second; nothing at all may come."""
    code = f"import socket; socket.create_connection(({address!r}, {port}), 1)"
    words = ["python3", "-c", code]
    done = sender.run(words, check=False) if sender else lab.client.run(words, check=False)
    assert done.returncode == 0 or "TimeoutError" in done.stderr or "timed out" in done.stderr, done.stderr
    return done.returncode == 0


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, on a fabric besides, with somebody's rules and programs on boxa."""
    numbers = {"boxa": 1, "boxb": 2}
    text = site(clean_lab, load_time=0.5, speed=10, extra="    split: {boxes: [boxa, boxb], tensor_parallel: 2}\n")
    for name, number in numbers.items():
        box, address = clean_lab.boxes[name], f"{FABRIC}.{number}"
        box.run(["ip", "address", "add", f"{address}/24", "dev", "eth0"])
        fabric = f", fabric: {{interface: eth0, address: {address}}}}}"
        text = text.replace(f"{name}: {{host: {box.address}}}", f"{name}: {{host: {box.address}{fabric}")
    clean_lab.client.run(["ip", "address", "add", f"{FABRIC}.100/24", "dev", "eth0"])
    boxa = clean_lab.boxes["boxa"]
    boxa.run(["nft", "-f", "-"], input=SHOP)
    for port in (MASTER, EPHEMERAL):
        boxa.run(["systemd-run", "--collect", f"--unit=listen-{port}", "python3", "-m", "http.server", str(port)])
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(text)
    set_up(clean_lab, floor)
    floor.rules = theirs(boxa)  # type: ignore[attr-defined] # what must not change
    floor("deploy", "--mode", "replicas")
    return floor


def test_only_the_proxy_is_open_and_who_tries_is_named(floor: Floor) -> None:
    lab = floor.lab
    boxa, boxb = lab.boxes["boxa"], lab.boxes["boxb"]
    closed = [(boxa.address, port) for port in (ENGINE, STATUS, MASTER)] + [(f"{FABRIC}.1", EPHEMERAL)]
    assert [place for place in closed if opens(lab, *place)] == []
    assert opens(lab, boxa.address, EPHEMERAL)  # on the network of all else it is nobody's business
    assert [place for place in closed if not opens(lab, *place, sender=boxa)] == []
    assert [place for place in closed[:2] if not opens(lab, *place, sender=boxb)] == []
    assert [place for place in [(f"{FABRIC}.1", MASTER), closed[3]] if not opens(lab, *place, sender=boxb)] == []
    assert chat(lab)[0] == 200
    found = status(floor)["boxes"]["boxa"]["firewall"]
    assert (found["loaded"], found["same"]) == (True, True)
    (came,) = found["direct"]
    assert came["address"] == lab.client.address
    assert came["connections"] >= 1
    told = floor("status").stdout
    assert f"boxa: connections to its engines past the proxy, kept off: {lab.client.address} (" in told
    assert theirs(boxa) == floor.rules  # type: ignore[attr-defined]


def test_with_warn_they_are_let_through_and_named_and_nothing_restarts(floor: Floor) -> None:
    before = invocations(floor.lab)
    floor.edit("proxy: {", "proxy: {direct: warn, ")
    floor("deploy")
    boxa = floor.lab.boxes["boxa"]
    url = f"http://{boxa.address}:{ENGINE}/v1/models"
    words = ["curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}", url]
    assert [floor.lab.client.run(words).stdout for _ in range(3)] == ["401"] * 3  # its key it asks for all the same
    assert not opens(floor.lab, boxa.address, STATUS)
    told = floor("status").stdout
    assert f"boxa: connections to its engines past the proxy, let through: {floor.lab.client.address} (3)" in told
    assert invocations(floor.lab) == before
    floor.edit("direct: warn, ", "direct: deny, ")
    floor("deploy")
    assert invocations(floor.lab) == before


def test_rules_that_somebody_changed_or_emptied_come_back(floor: Floor) -> None:
    """By the next deployment, with nftables' own service, and before an engine starts."""
    lab, box = floor.lab, floor.lab.boxes["boxb"]
    before = invocations(lab)
    box.run(["nft", "insert", "rule", "inet", "floor", "engines", "ip", "saddr", lab.client.address, "accept"])
    assert opens(lab, box.address, ENGINE)
    assert "boxb: somebody has changed the rules of table inet floor" in floor("status").stdout
    assert "boxb: reload floor-firewall.service" in floor("deploy", "--dry-run", code=3).stdout
    floor("deploy")
    assert not opens(lab, box.address, ENGINE)
    box.run(["systemctl", "start", "nftables"])
    box.run(["systemctl", "restart", "nftables"])  # Debian's own file begins with `flush ruleset`
    until("the rules to be there again", lambda: not opens(lab, box.address, ENGINE), 5)
    box.run(["systemctl", "reload", "nftables"])
    until("the rules to be there again", lambda: not opens(lab, box.address, ENGINE), 5)
    box.run(["systemctl", "stop", "nftables"])
    assert "boxb: the firewall is not loaded" in floor("status").stdout
    assert invocations(lab)["boxb"][UNIT] == before["boxb"][UNIT]
    box.run(["systemctl", "restart", UNIT], timeout=60)
    assert not opens(lab, box.address, ENGINE)
    floor("deploy")
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_a_switch_that_could_not_work_is_refused_with_the_port_and_nothing_stops(floor: Floor) -> None:
    """First a program has the port where ranks meet, then somebody's rules close it on the fabric."""
    before, boxa = invocations(floor.lab), floor.lab.boxes["boxa"]
    told = floor("switch", "split", code=1).stderr
    assert f"boxa: port {MASTER}, where the ranks of flagship meet, is held by /usr/bin/python3 -m http.server" in told
    boxa.run(["systemctl", "stop", f"listen-{MASTER}"])
    boxa.run(["nft", "insert", "rule", "inet", "guests", "later", "tcp", "dport", str(MASTER), "drop"])
    told = floor("switch", "split", code=1).stderr
    assert f"boxb: does not reach boxa at {FABRIC}.1 on the fabric, port {MASTER}, where the ranks meet: no" in told
    boxa.run(["nft", "flush", "chain", "inet", "guests", "later"])
    boxa.run(["nft", "add", "rule", "inet", "guests", "later", "tcp", "dport", "81", "drop"])
    floor.rules = theirs(boxa)  # type: ignore[attr-defined]
    assert invocations(floor.lab) == before
    assert chat(floor.lab)[0] == 200


def test_after_floor_is_gone_only_its_own_rules_are(floor: Floor) -> None:
    boxa = floor.lab.boxes["boxa"]
    assert theirs(boxa) == floor.rules  # type: ignore[attr-defined]
    floor("remove", "boxa", "--yes", "--force")
    assert "inet floor" not in boxa.run(["nft", "list", "tables"]).stdout
    assert theirs(boxa) == floor.rules  # type: ignore[attr-defined]
