"""Figures that add up, on real boxes: for Prometheus itself, for a browser, for a terminal, and for who asks once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests import metrics_page
from tests.browser import Browser
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, deployed, in_both, pool, until
from tests.lab.floor import Floor
from tests.lab.sites import PORT, proxy, site
from tests.load.running import Running

PAGE = 8097
SECTION = "metrics: {{listen: 8097, allow: [{client}], page: [{client}], interval: 1s}}\n"
SHOWN = 3.0  # seconds within which the page shows that a copy went or came, as stated
# A batch job that was given an engine's address, and its key.
BATCH = """#!/bin/sh
while :; do
  curl -sS -m 30 -o /dev/null -H "Authorization: Bearer $(cat /etc/floor/secrets/engine.key)" \\
    -H 'Content-Type: application/json' \\
    -d '{{"model": "flagship", "prompt": "x", "max_tokens": 900, "ignore_eos": true}}' \\
    {engine}/v1/completions
done
"""


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Floor]:
    """Both boxes deployed to, with metrics and the status page, and some load all the time."""
    text = site(clean_lab, load_time=1, requests=8) + SECTION.format(client=clean_lab.client.address)
    found = deployed(clean_lab, tmp_path_factory.mktemp("site"), text)
    words = ("--clients", "6", "--tokens", "40", "--stream", "yes")
    with Running(proxy(clean_lab), "flagship", *words, enter=clean_lab.client.enter()):
        yield found


@pytest.fixture(autouse=True)
def whole(floor: Floor) -> None:
    """Each test begins with both copies in the pool of both proxies."""
    until("both copies in both pools", lambda: in_both(floor.lab), 30)


def get(lab: Lab, path: str, box: str = "boxa", port: int = PAGE) -> tuple[int, str]:
    """Status and body of a GET from the client's namespace."""
    url = f"http://{lab.boxes[box].address}:{port}{path}"
    done = lab.client.run(["curl", "-sS", "-m", "10", "-w", "\n%{http_code}", url], check=False)
    body, _, status = done.stdout.rpartition("\n")
    return int(status or 0), body + "\n" if body and not body.endswith("\n") else body


def total(lines: dict[metrics_page.Series, float], name: str, **labels: str) -> float:
    return sum(value for (found, has), value in lines.items() if found == name and labels.items() <= dict(has).items())


def test_sums_are_the_sums_of_their_parts_and_promtool_takes_the_page(floor: Floor) -> None:
    until("both copies have generated", lambda: _generated(floor.lab) > 0, 20, 0.5)
    for box in floor.lab.boxes:
        status, page = get(floor.lab, "/metrics", box)
        assert status == 200
        checked = subprocess.run(
            ["promtool", "check", "metrics"], input=page, text=True, capture_output=True, check=False
        )
        assert "error" not in (checked.stdout + checked.stderr).lower(), checked.stderr
        lines = metrics_page.check(page)
        for copies, whole_ in (
            ("floor_copy_generated_tokens_total", "floor_model_generated_tokens_total"),
            ("vllm:generation_tokens_total", "floor_sum:vllm:generation_tokens_total"),
        ):
            assert total(lines, copies) == pytest.approx(total(lines, whole_))
            assert total(lines, copies, copy="flagship@boxb") > 0
        assert total(lines, "floor_target_up") == 2
        assert total(lines, "floor_box_memory_bytes", box=box) > 0
        assert total(lines, "floor_proxy_requests_total", status="200") > 0 or box == "boxb"


def _generated(lab: Lab) -> float:
    lines = metrics_page.check(get(lab, "/metrics")[1])
    return min(total(lines, "floor_copy_generated_tokens_total", copy=f"flagship@{box}") for box in lab.boxes)


def test_sums_never_go_backwards_when_a_copy_begins_anew(floor: Floor) -> None:
    """Its own counters begin at 0; what all of them come to goes on."""
    box = floor.lab.boxes["boxb"]
    seen: list[float] = []

    def look() -> dict[metrics_page.Series, float]:
        lines = metrics_page.check(get(floor.lab, "/metrics")[1])
        seen.append(total(lines, "floor_model_generated_tokens_total"))
        return lines

    restarts = total(look(), "floor_target_restarts_total", copy="flagship@boxb")
    box.run(["kill", "-9", str(box.pid(UNIT))])
    until("its metrics cannot be read", lambda: total(look(), "floor_target_up") == 1, 10, 0.2)
    began = lambda: total(look(), "floor_target_restarts_total", copy="flagship@boxb") > restarts  # noqa: E731
    until("its fresh start is counted", began, 60, 0.2)
    for _ in range(10):
        look()
    assert seen == sorted(seen), "a sum went backwards"
    assert seen[-1] > seen[0]
    lines = look()
    out = total(lines, "floor_pool_changes_total", copy="flagship@boxb", change="out")
    assert out >= 1


@contextmanager
def prometheus(floor: Floor, folder: Path) -> Iterator[Any]:
    """Prometheus itself in the client's namespace, with what `floor export` prints; looks every second. Yields what
    answers a query."""
    text = (
        floor("export", "prometheus").stdout.replace("15s", "1s").replace("scrape_timeout: 10s", "scrape_timeout: 1s")
    )
    (folder / "prometheus.yml").write_text(text)
    (folder / "floor-alerts.yml").write_text(floor("export", "alerts").stdout)
    enter = floor.lab.client.enter()
    flags = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    flags += ["--web.listen-address=127.0.0.1:9090", "--log.level=error"]
    process = subprocess.Popen([*enter, "prometheus", *flags], stderr=subprocess.DEVNULL)

    def ask(path: str) -> Any:
        done = floor.lab.client.run(["curl", "-sS", "-m", "5", f"http://127.0.0.1:9090/api/v1/{path}"], check=False)
        return json.loads(done.stdout)["data"] if done.returncode == 0 and done.stdout.startswith("{") else None

    try:
        yield ask
    finally:
        process.terminate()
        process.wait(20)


def test_prometheus_reads_it_and_no_alert_fires(floor: Floor, tmp_path: Path) -> None:
    with prometheus(floor, tmp_path) as ask:

        def query(words: str) -> list[Any]:
            found = ask(f"query?query={quote(words)}")
            return [] if found is None else list(found["result"])

        def two_up() -> bool:
            return [one["value"][1] for one in query('up{job="floor"}')] == ["1", "1"]

        took = until("Prometheus reads both boxes", two_up, 30, 0.5)
        until("rates are known", lambda: bool(query("rate(floor_model_generated_tokens_total[10s]) > 0")), 30, 0.5)
        same = query(
            "max by (model) (floor_model_generated_tokens_total) / sum by (model) (max by (copy, model)"
            " (floor_copy_generated_tokens_total))"
        )
        assert float(same[0]["value"][1]) == pytest.approx(1, abs=0.05)
        before = [rule["lastEvaluation"] for rule in ask("rules")["groups"][0]["rules"]]

        def judged_again() -> bool:
            now = [rule["lastEvaluation"] for rule in ask("rules")["groups"][0]["rules"]]
            return all(then != last for then, last in zip(before, now, strict=True))

        until("every rule has been judged by these figures", judged_again, 60, 0.5)
        rules = ask("rules")["groups"][0]["rules"]
        assert len(rules) >= 14
        assert {rule["health"] for rule in rules} == {"ok"}, rules
        assert [alert["labels"]["alertname"] for alert in ask("alerts")["alerts"] if alert["state"] == "firing"] == []
        targets = ask("targets")["activeTargets"]
        assert [one["lastError"] for one in targets] == ["", ""]
        print(f"read after {took:.1f} s; pages took {max(one['lastScrapeDuration'] for one in targets):.3f} s")


def test_a_browser_shows_at_once_that_a_copy_went_and_came(floor: Floor, tmp_path: Path) -> None:
    lab, box = floor.lab, floor.lab.boxes["boxb"]
    out = "document.querySelector('[data-key=\"flagship@boxb\"] .pool').textContent === '{}'"
    with Browser(tmp_path / "chromium", lab.client.enter()) as page:
        page.open(f"{proxy(lab)}/floor/")
        page.until("!document.getElementById('all').hidden", 10)
        page.until(out.format("in"), 10)
        page.until("document.querySelector('#events li') !== null", 10)
        page.until("parseFloat(document.querySelector('#models strong').textContent) > 0", 15)
        page.until("document.getElementById('warnings').textContent === 'nothing'", 15)
        box.run(["kill", "-9", str(box.pid(UNIT))])
        killed = time.monotonic()
        page.until(out.format("out"), 2 * SHOWN)
        went = time.monotonic() - killed
        shoot(page, "status-copy-lost.png")
        until("it is in the pool of boxa", lambda: "flagship@boxb" in pool(lab), 60)
        back = time.monotonic()
        page.until(out.format("in"), 2 * SHOWN)
        came = time.monotonic() - back
        page.listen()
        shifts = page.ask("window.shifts")
        print(
            f"shown that it went after {went:.2f} s, that it came after {came:.2f} s; shifts {shifts}; said {page.said}"
        )
        assert page.said == []
        assert shifts == []
        assert page.ask("document.getElementById('spoken').textContent").startswith("flagship@boxb serves again")
        readable(page)
        looks(page)


def readable(page: Browser) -> None:
    """What a screen reader has to go by: headings, tables with named columns and rows, charts with words."""
    tree = page.accessible()
    names = {role: [one["name"] for one in tree if one["role"] == role] for role in {one["role"] for one in tree}}
    assert {"Needs a look", "flagship", "Copies", "Boxes", "What happened last"} <= set(names["heading"])
    assert {"flagship@boxa", "flagship@boxb", "boxa", "boxb"} <= set(names["rowheader"])
    assert {"Pool", "tok/s", "Why", "Mode", "Memory left"} <= set(names["columnheader"])
    assert all("over the last hour" in name for name in names["image"])
    assert len(names["image"]) == 5


def looks(page: Browser) -> None:
    """Pictures in both colours and on a phone; nothing is wider than the window but the tables, which scroll."""
    for name, width, height, scheme in (
        ("status-light.png", 1280, 900, "light"),
        ("status-dark.png", 1280, 900, "dark"),
        ("status-phone.png", 390, 844, "light"),
    ):
        page.resize(width, height, phone=width < 500)
        page.colours(scheme)
        page.until(f"innerWidth === {width} && document.documentElement.scrollWidth <= innerWidth", 5)
        shoot(page, name)


def shoot(page: Browser, name: str) -> None:
    """A picture for people: into the folder that FLOOR_SHOTS names, where it does."""
    if folder := os.environ.get("FLOOR_SHOTS"):
        page.shot(Path(folder) / name, whole=False)


def test_the_page_is_for_those_whom_floor_yaml_names(floor: Floor) -> None:
    """From a box that is not named: 403. Nothing is changed by it, and other paths below /floor/ are not there."""
    lab = floor.lab
    assert get(lab, "/floor/now.json", port=PORT)[0] == 200
    assert get(lab, "/floor/other", port=PORT)[0] == 404
    url = f"http://{lab.boxes['boxa'].address}:{PORT}/floor/"
    asked = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}"]
    assert lab.boxes["boxb"].run([*asked, url]).stdout == "403"
    assert lab.client.run([*asked, "-X", "POST", "-d", "x", url]).stdout == "403"
    assert lab.boxes["boxb"].run([*asked, f"http://{lab.boxes['boxa'].address}:{PAGE}/metrics"]).stdout == "200"


def test_a_terminal_shows_it_and_goes_to_another_proxy_box(floor: Floor) -> None:
    process = floor.start("status", "--watch", "--json")
    assert process.stdout is not None
    try:
        documents = map(json.loads, process.stdout)
        first = next(one for one in documents if one["models"]["flagship"]["generated_tokens_per_second"])
        assert first["asked"] == "boxa"
        assert all(box["up"] for box in first["boxes"].values())
        began = time.monotonic()
        floor.lab.boxes["boxa"].partition()
        second = next(one for one in documents if one.get("asked") == "boxb")
        took = time.monotonic() - began
        silent = next(one for one in documents if one.get("asked") == "boxb" and not one["boxes"]["boxa"]["up"])
        print(f"told by the other proxy box after {took:.1f} s: {silent['warnings']}")
        assert second["models"]["flagship"]["copies"] == 2
    finally:
        floor.lab.boxes["boxa"].heal()
        process.terminate()
        process.communicate(timeout=20)


def test_who_skips_the_proxy_is_named_within_five_seconds(floor: Floor) -> None:
    """A job on a box that asks the other box's engine, which no firewall can tell from the proxy there; and a stranger,
    who is kept off and counted."""
    lab = floor.lab
    engine = f"http://{lab.boxes['boxb'].address}:8000"
    lab.boxes["boxa"].put("/usr/local/bin/batch", BATCH.format(engine=engine), 0o755)
    lab.boxes["boxa"].run(["systemd-run", "--quiet", "--unit=batch", "/usr/local/bin/batch"])
    began = time.monotonic()

    def named() -> list[dict[str, Any]]:
        found = json.loads(floor("clients", "--json").stdout)["connections"]
        return [one for one in found if one["kind"] == "past the proxy"]

    seen: list[dict[str, Any]] = []

    def shown() -> bool:
        seen[:] = named()
        return bool(seen)

    until("it is shown", shown, 10)
    took = time.monotonic() - began
    print(f"named after {took:.1f} s: {seen}")
    assert took < 2 * 5
    assert [(one["engine"], one["address"]) for one in seen] == [("flagship@boxb", "boxa")]
    assert re.fullmatch(r"boxa: curl \(pid \d+, batch\.service\)", seen[0]["who"])
    every = json.loads(floor("clients", "--json").stdout)["connections"]
    assert {"proxy", "check", "past the proxy"} >= {one["kind"] for one in every} >= {"past the proxy", "proxy"}
    told = f'floor_direct_connections{{address="this box: batch.service -> {lab.boxes["boxb"].address}:8000"}}'
    took = until("the watchdog of its box has seen it", lambda: told in get(lab, "/metrics", "boxa")[1], 90, 1)
    print(f"told without anybody looking after {took:.1f} s")
    lab.boxes["boxa"].run(["systemctl", "stop", "batch.service"])
    until("it is gone", lambda: not named(), 10)
    done = lab.client.run(["curl", "-sS", "-m", "2", f"{engine}/v1/models"], check=False)
    assert done.returncode == 28  # no answer: dropped
    out = floor("clients").stdout
    assert "nobody is connected to an engine past the proxy" in out
    assert f"boxb: {lab.client.address} began" in out
    assert "kept off" in out
    until(
        "the watchdog has seen it",
        lambda: f'floor_direct_connections{{address="{lab.client.address}"}}' in get(lab, "/metrics", "boxb")[1],
        90,
        1,
    )


def test_bench_takes_one_copy_out_and_gives_it_back(floor: Floor, tmp_path: Path) -> None:
    """The other one serves meanwhile; killed in the middle, the copy is back when the hold lapses at the latest."""
    out = tmp_path / "run.json"
    words = [
        "bench",
        "--copy",
        "flagship@boxb",
        "--levels",
        "1,2,4",
        "--seconds",
        "2",
        "--mix",
        "short",
        "--out",
        str(out),
    ]
    seen: list[int] = []
    process = floor.start(*words, "--json")
    while process.poll() is None:
        seen.append(len(pool(floor.lab)))
        time.sleep(0.2)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert set(seen) == {1, 2}
    assert pool(floor.lab) == ["flagship@boxa", "flagship@boxb"]
    found = json.loads(said[said.index("{") :])
    print(f"levels {[(one['at'], one['tokens_per_second']) for one in found['levels']]}, {found['advice']}")
    assert [one["at"] for one in found["levels"]] == [1, 2, 4]
    assert all(one["errors"] == 0 for one in found["levels"])
    again = floor(*words)  # everything is measured: nobody is taken out
    assert "is out of every pool" not in again.stderr
    assert floor("deploy").stdout.strip() == "nothing to do"
