"""What holds for real vLLM on both boxes, whichever way it was started: the same checks for each runtime."""

from __future__ import annotations

import json
import time
from pathlib import Path

from floor.desired import routes
from tests.lab.deployment import UNIT, chat, invocations, pool, set_up, until, written
from tests.lab.floor import Floor
from tests.lab.sites import proxy
from tests.load.running import Running
from tests.real.sites import MAX_REQUESTS

ROUTES = Path(__file__).parents[1] / "cases/vllm/routes.txt"  # of vLLM 0.32


def from_bare_boxes_to_a_streamed_answer(floor: Floor) -> None:
    """`setup`, `deploy`, a chat; the figure is printed."""
    began = time.monotonic()
    set_up(floor.lab, floor)
    ready = time.monotonic()
    floor("deploy", "--mode", "replicas", timeout=900)
    deployed = time.monotonic()
    code, body = chat(floor.lab, stream=True, tokens=16)
    print(f"set up in {ready - began:.0f} s, deployed in {deployed - ready:.0f} s")
    assert code == 200
    assert body.rstrip().endswith("data: [DONE]")


def again_nothing_is_touched(floor: Floor) -> None:
    """A second run says so, and neither a file nor a unit changes."""
    before = invocations(floor.lab), written(floor.lab)
    assert floor("deploy", "--mode", "replicas").stdout.strip() == "nothing to do"
    assert (invocations(floor.lab), written(floor.lab)) == before


def a_rolling_restart_loses_nothing(floor: Floor) -> None:
    """Twice as many streams as both copies take at once, by clients that never retry."""
    clients = str(2 * MAX_REQUESTS)
    options = ("--clients", clients, "--tokens", "24", "--words", "5", "--stream", "yes")
    before = invocations(floor.lab)
    with Running(proxy(floor.lab), "flagship", *options, enter=floor.lab.client.enter()) as load:
        time.sleep(5)
        floor("restart", timeout=900)
        time.sleep(2)
        report = load.stop()
    after = invocations(floor.lab)
    print(f"rolling restart of both copies: {report}")
    assert report.failures == []
    assert report.sent >= 40
    assert all(before[box][UNIT] != after[box][UNIT] for box in floor.lab.boxes)


def a_killed_engine_comes_back(floor: Floor) -> None:
    """Out of the pool within 3 s, in again within 2 s after it is warm; the goals, doubled."""
    box = floor.lab.boxes["boxb"]
    box.run(["systemctl", "kill", "--signal=SIGKILL", UNIT])
    out = until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
    assert chat(floor.lab)[0] == 200
    until("warm", lambda: box.run(["systemctl", "is-active", UNIT], check=False).stdout == "active\n", 400, 0.2)
    back = until("in the pool", lambda: len(pool(floor.lab)) == 2, 4)
    print(f"out of the pool {out:.2f} s after the kill, back {back:.2f} s after warm-up")


def only_the_inference_api_passes(floor: Floor) -> None:
    """Every path that real vLLM has, tried through the proxy; its own port is closed to all but boxes."""
    lab = floor.lab
    passed = {}
    for line in ROUTES.read_text().splitlines():
        methods, path = line.split(" ")
        for method in methods.split(","):
            url = f"{proxy(lab)}{path.replace('{response_id}', 'resp_0a1b')}"
            words = ["curl", "-s", "-m", "20", "-X", method, "-H", "Content-Type: application/json", "-d", "{}", url]
            passed[method, path] = "There is no such path here" not in lab.client.run(words).stdout
    allowed = {(route.method, route.path) for route in routes.ROUTES}
    allowed |= {(one.method, f"{one.before}{{response_id}}{one.after}") for one in routes.PATTERNS}
    assert {route for route, through in passed.items() if through} == allowed & set(passed)
    engine = f"http://{lab.boxes['boxa'].address}:8000/v1/models"
    asked = ["curl", "-s", "-m", "3", "-o", "/dev/null", "-w", "%{http_code}", engine]
    assert lab.client.run(asked, check=False).stdout == "000"
    assert lab.boxes["boxb"].run(asked).stdout == "401"
    listed = lab.client.run(["curl", "-s", "-w", "%{http_code}", f"{proxy(lab)}/v1/models"]).stdout
    assert listed.endswith("200")
    assert '"flagship"' in listed


def what_differs_shows_and_only_bytes_are_put_back(floor: Floor) -> None:
    """An edited option, a hand-edited unit and a drop-in each end a dry run with 3; the unit is put back in place."""
    box, before = floor.lab.boxes["boxb"], invocations(floor.lab)
    edited = f"max_requests: {MAX_REQUESTS + 1}"
    floor.edit(f"max_requests: {MAX_REQUESTS}", edited)
    assert f"--max-num-seqs {MAX_REQUESTS} → {MAX_REQUESTS + 1}" in floor("deploy", "--dry-run", code=3).stdout
    floor.edit(edited, f"max_requests: {MAX_REQUESTS}")
    drop_in = f"/etc/systemd/system/{UNIT}.d/override.conf"
    box.put(drop_in, "[Service]\nNice=1\n")
    box.run(["systemctl", "daemon-reload"])
    assert drop_in in floor("deploy", "--dry-run", code=3).stdout
    box.run(["rm", drop_in])
    unit = f"/etc/systemd/system/{UNIT}"
    box.put(unit, box.read(unit) + "# a hand was here\n")
    shown = floor("deploy", "--dry-run", code=3).stdout
    assert unit in shown
    assert "stop flagship" not in shown
    floor("deploy")
    assert "a hand was here" not in box.read(unit)
    assert invocations(floor.lab) == before


def an_edited_option_and_a_drop_in_restart_only_their_copies(floor: Floor) -> None:
    """The option is both copies', one after the other; the drop-in is one copy's. No service restarts."""
    before = invocations(floor.lab)
    floor.edit(f"max_requests: {MAX_REQUESTS}", f"max_requests: {MAX_REQUESTS + 1}")
    done = floor("deploy", timeout=900).stdout
    assert done.index("change flagship@boxa") < done.index("change flagship@boxb")
    edited = invocations(floor.lab)
    assert {box: restarted(before[box], edited[box]) for box in edited} == {"boxa": {UNIT}, "boxb": {UNIT}}
    box = floor.lab.boxes["boxb"]
    box.put(f"/etc/systemd/system/{UNIT}.d/override.conf", "[Service]\nNice=1\n")
    box.run(["systemctl", "daemon-reload"])
    floor("deploy", timeout=900)
    after = invocations(floor.lab)
    assert {name: restarted(edited[name], after[name]) for name in after} == {"boxa": set(), "boxb": {UNIT}}
    again_nothing_is_touched(floor)


def a_wrong_flag_is_refused_before_anything_stops(floor: Floor) -> None:
    """The build's own parser says so, and both copies go on; the figure is what trying both starts costs."""
    before = invocations(floor.lab)
    floor.edit("dtype: float32}", "dtype: float32, no-such-flag: 1}")
    began = time.monotonic()
    told = floor("deploy", "--ungated", code=1, timeout=300).stderr
    print(f"both starts tried in {time.monotonic() - began:.0f} s")
    assert "flagship@boxb: it would not start: " in told
    assert "unrecognized arguments: --no-such-flag 1" in told
    assert invocations(floor.lab) == before
    floor.edit("dtype: float32, no-such-flag: 1}", "dtype: float32}")
    again_nothing_is_touched(floor)


def the_cache_of_a_measured_copy_is_foretold(floor: Floor) -> None:
    """What vLLM printed of its cache at its start comes out of the rules, and a layout's speeds are the measured ones.

    How near those are to a fresh measurement is not held here: on two cores, beside two boxes with all their services,
    the same engine answers with 90 and with 490 tokens a second within a minute.
    """
    words = ("--depths", "64,1024", "--at-once", "8", "--answer", "24", "--json")
    found = json.loads(floor("calibrate", "flagship@boxa", *words, timeout=900).stdout)
    assert found["cache"]["logged"] == found["cache"]["computed"] == 262_144
    at = f"{{host: {floor.lab.boxes['boxa'].address}"
    floor.edit(at, f"{at}, keep_free: 1GiB")  # other tests run on this machine
    told = json.loads(floor("layout", "flagship", "--depth", "312", "--cap", "5", "--json").stdout)["models"][0]
    floor.edit(f"{at}, keep_free: 1GiB", at)
    foretold = {one["name"]: one for layout in told["layouts"] for one in layout["backends"]}["flagship@boxa"]
    assert foretold["cache"]["logged_tokens"] == 262_144
    assert {foretold[part]["origin"] for part in ("one_stream", "at_cap")} == {"measured"}
    assert all(foretold[part]["tokens_per_second"] > 0 for part in ("one_stream", "at_cap"))


def restarted(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """The units of a box that are in another run than before."""
    return {unit for unit, run in after.items() if before.get(unit) != run}
