"""Keys are replaced under load, clients have names, and the proxies speak https: end to end, from outside."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, deployed, invocations, pool, until
from tests.lab.floor import Floor
from tests.lab.sites import MODEL, PORT, proxy, site
from tests.load.running import Running

TLS = "tls: {certificate: /etc/ssl/floor/chat.pem, key: /etc/ssl/floor/chat.key}"


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab, load_time=0.5, speed=10, requests=16))


def certify(floor: Floor, days: int) -> Path:
    """Put a certificate for both boxes on both, and return it."""
    place = floor.folder / "chat.pem", floor.folder / "chat.key"
    names = ",".join(f"IP:{box.address}" for box in floor.lab.boxes.values())
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    more = ["-days", str(days), "-subj", "/CN=lab", "-addext", f"subjectAltName={names}"]
    subprocess.run([*words, *more, "-out", place[0], "-keyout", place[1]], check=True, capture_output=True)
    for box in floor.lab.boxes.values():
        for file in place:
            box.put(f"/etc/ssl/floor/{file.name}", file.read_text(), mode=0o600)
    return place[0]


def ask(floor: Floor, box: str, *, key: str = "", certificate: Path | None = None) -> int:
    """One chat from the client's namespace, over https with a certificate; return the status, 0 for no answer."""
    scheme = "https" if certificate else "http"
    trust = ["--cacert", str(certificate)] if certificate else []
    header = ["-H", f"Authorization: Bearer {key}"] if key else []
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 2})
    words = ["curl", "-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", *trust, *header]
    url = f"{scheme}://{floor.lab.boxes[box].address}:{PORT}/v1/chat/completions"
    sent = [*words, "-H", "Content-Type: application/json", "-d", body, url]
    return int(floor.lab.client.run(sent, check=False).stdout)


def secrets(floor: Floor) -> dict[str, set[str]]:
    """What lies in each file of the secrets of the boxes; one value where all have the same."""
    found: dict[str, set[str]] = {}
    for box in floor.lab.boxes.values():
        for name in box.run(["ls", "/etc/floor/secrets"]).stdout.split():
            found.setdefault(name, set()).add(box.read(f"/etc/floor/secrets/{name}"))
    return found


def test_the_engine_key_becomes_another_under_load_and_no_request_is_refused(floor: Floor) -> None:
    lab, before, keys = floor.lab, invocations(floor.lab), secrets(floor)
    options = ("--clients", "12", "--tokens", "40")
    with Running(proxy(lab), MODEL, *options, enter=lab.client.enter()) as load:
        began = time.monotonic()
        floor("key", "rotate", "engine")
        took = time.monotonic() - began
        report = load.stop()
    print(f"engine key replaced in {took:.1f} s: {report}")
    assert report.failures == []
    assert report.sent >= 100
    after, now = invocations(lab), secrets(floor)
    assert all(before[box][UNIT] != after[box][UNIT] for box in lab.boxes)
    assert now.keys() == keys.keys()
    assert all(len(texts) == 1 for texts in now.values())
    assert not keys["engine.key"] & now["engine.key"]
    assert keys["status.key"] == now["status.key"]
    assert all(len(pool(lab, box)) == 2 for box in lab.boxes)
    assert floor("deploy").stdout.strip() == "nothing to do"


def units(lab: Lab) -> set[str]:
    """What the pool of boxa is told of the units of its backends; a port that starts anew may miss one question."""
    state = json.loads(lab.boxes["boxa"].read("/run/floor/pool/state.json"))
    return {one["unit"] for one in state["pools"][MODEL]["backends"].values()}


def test_the_status_key_becomes_another_and_no_engine_notices(floor: Floor) -> None:
    lab, before, keys = floor.lab, invocations(floor.lab), secrets(floor)
    with Running(proxy(lab), MODEL, "--clients", "4", enter=lab.client.enter()) as load:
        floor("key", "rotate", "status")
        report = load.stop()
    assert report.failures == []
    after, now = invocations(lab), secrets(floor)
    assert all(before[box][UNIT] == after[box][UNIT] for box in lab.boxes)
    assert not keys["status.key"] & now["status.key"]
    until("boxa's pool is told of every unit", lambda: units(lab) == {"active"}, 10)


def test_clients_with_keys_over_https(floor: Floor) -> None:
    lab, before = floor.lab, invocations(floor.lab)
    floor.edit("proxy: {", f"proxy: {{clients: [alice, ci], {TLS}, ")
    missing = floor("deploy", code=1).stderr
    assert "boxa: there is no /etc/ssl/floor/chat.pem; put both files of proxy.tls on every proxy box" in missing
    certificate = certify(floor, 30)
    floor("deploy")
    assert all(finding.startswith("ok") for finding in floor("verify").stdout.splitlines())
    alice, ci = (floor("key", "show", name).stdout.strip() for name in ("alice", "ci"))
    assert [ask(floor, box, key=alice, certificate=certificate) for box in lab.boxes] == [200, 200]
    assert [ask(floor, "boxa", key=key, certificate=certificate) for key in (ci, "", f"{ci}x")] == [200, 401, 401]
    assert ask(floor, "boxa", key=alice) == 400  # plain http
    log = lab.boxes["boxb"].run(["journalctl", "-t", "floor_proxy", "-o", "cat", "--no-pager"]).stdout
    assert '"client_name":"alice"' in log
    assert alice not in log
    after = invocations(lab)
    assert all(before[box][UNIT] == after[box][UNIT] for box in lab.boxes)


def test_a_clients_key_is_replaced_and_the_old_one_ended_when_told(floor: Floor) -> None:
    certificate = floor.folder / "chat.pem"
    old = floor("key", "show", "alice").stdout.strip()
    floor("key", "rotate", "alice")
    new = floor("key", "show", "alice").stdout.strip()

    def answers() -> list[int]:
        return [ask(floor, box, key=key, certificate=certificate) for box in floor.lab.boxes for key in (old, new)]

    assert old != new
    assert answers() == [200, 200, 200, 200]
    floor("key", "retire", "alice")
    until("the old key to be refused", lambda: answers() == [401, 200, 401, 200], 10)
    floor.edit("clients: [alice, ci]", "clients: [ci]")
    floor("deploy")
    until("alice to be refused", lambda: set(answers()) == {401}, 10)


def test_a_new_certificate_is_read_and_its_end_is_told(floor: Floor) -> None:
    certificate = certify(floor, 9)
    shown = floor("deploy", "--dry-run", code=3).stdout
    assert "the certificate or its key changed after they were read" in shown
    floor("deploy")
    ci = floor("key", "show", "ci").stdout.strip()
    assert ask(floor, "boxa", key=ci, certificate=certificate) == 200
    assert "boxa: /etc/ssl/floor/chat.pem ends in 9 days; renew it and run floor deploy" in floor("status").stdout
    floor.lab.boxes["boxb"].put("/etc/ssl/floor/chat.key", "no key\n", mode=0o600)
    told = floor("status").stdout
    assert "boxb: /etc/ssl/floor/chat.pem and /etc/ssl/floor/chat.key cannot be used" in told
