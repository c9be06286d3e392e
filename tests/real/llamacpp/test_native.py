"""llama.cpp's real server as a program of each box: deploy, verify, a rolling restart under load, a kill."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, invocations, pool, set_up, status, until
from tests.lab.floor import Floor
from tests.lab.sites import proxy
from tests.load.running import Running
from tests.real.deployed import again_nothing_is_touched
from tests.real.llamacpp.environment import LIBRARIES, MODEL, SERVER

SLOTS = 4


def site(lab: Lab) -> str:
    """A copy of the model on each box, a proxy on each."""
    boxes = "\n".join(f"  {box.name}: {{host: {box.address}}}" for box in lab.boxes.values())
    names = ", ".join(lab.boxes)
    return f"""\
boxes:
{boxes}
models:
  flagship:
    engine: llamacpp
    source: {MODEL}
    context: 2048
    max_requests: {SLOTS}
    kv_cache: q8_0
    request_time: 120
    start_time: 200
    runtime: {{kind: native, command: {SERVER}}}
    args: {{threads: 1}}
    env: {{LD_LIBRARY_PATH: {LIBRARIES}}}
    replicas: [{names}]
proxy: {{boxes: [{names}], listen: 8080}}
health: {{stall: 60}}
"""


@pytest.fixture(scope="module")
def floor(llama_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """A floor.yaml for new boxes; the first test deploys it."""
    folder: Path = tmp_path_factory.mktemp("site")
    floor = Floor(llama_lab, folder)
    floor.write(site(llama_lab))
    return floor


def test_from_bare_boxes_to_a_streamed_answer(floor: Floor) -> None:
    set_up(floor.lab, floor)
    began = time.monotonic()
    floor("deploy", "--mode", "replicas", timeout=600)
    print(f"deployed in {time.monotonic() - began:.0f} s")
    code, body = chat(floor.lab, stream=True, tokens=16)
    assert code == 200
    assert body.rstrip().endswith("data: [DONE]")


def test_it_is_verified_and_told_of(floor: Floor) -> None:
    told = floor("verify").stdout
    assert "FAILED" not in told
    assert "ok  boxb: streamed chat with flagship: 200" in told
    floor("health")
    copies = status(floor)
    assert copies
    box = floor.lab.boxes["boxa"]
    words = box.read(f"/proc/{box.pid(UNIT)}/cmdline").split("\0")
    assert words[0] == SERVER
    assert words[words.index("--ctx-size") + 1] == str(2048 * SLOTS)
    key = box.read("/etc/floor/secrets/engine.key").strip()
    assert key not in words


def test_the_key_is_asked_for_and_only_the_inference_api_passes(floor: Floor) -> None:
    box = floor.lab.boxes["boxa"]
    ask = ["curl", "-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}"]
    for path in ("/v1/models", "/metrics", "/slots", "/props", "/v1/chat/completions"):
        assert box.run([*ask, f"http://{box.address}:8000{path}"]).stdout == "401", path
    for path in ("/metrics", "/slots", "/props", "/health", "/completion", "/lora-adapters"):
        assert floor.lab.client.run([*ask, f"{proxy(floor.lab)}{path}"]).stdout == "404", path
    assert floor.lab.client.run([*ask, f"{proxy(floor.lab)}/v1/models"]).stdout == "200"


def test_again_nothing_is_touched_by_a_second_deploy(floor: Floor) -> None:
    again_nothing_is_touched(floor)


def test_a_rolling_restart_loses_nothing(floor: Floor) -> None:
    """The server cuts what runs when it is told to stop: floor waits until it is idle before."""
    before = invocations(floor.lab)
    options = ("--clients", str(SLOTS), "--tokens", "16", "--words", "5", "--stream", "both")
    with Running(proxy(floor.lab), "flagship", *options, enter=floor.lab.client.enter()) as load:
        time.sleep(3)
        began = time.monotonic()
        floor("restart", timeout=600)
        took = time.monotonic() - began
        time.sleep(2)
        report = load.stop()
    after = invocations(floor.lab)
    print(f"rolling restart of both copies took {took:.1f} s: {report}")
    assert report.failures == []
    assert report.sent >= 10
    assert all(before[box][UNIT] != after[box][UNIT] for box in floor.lab.boxes)


def test_a_stop_by_hand_loses_nothing(floor: Floor) -> None:
    """`systemctl restart` on the box: the copy leaves the pools first and finishes what it has."""
    options = ("--clients", str(SLOTS), "--tokens", "16", "--words", "5", "--stream", "both")
    until("both copies in the pool", lambda: len(pool(floor.lab)) == 2, 30)
    with Running(proxy(floor.lab), "flagship", *options, enter=floor.lab.client.enter()) as load:
        time.sleep(2)
        floor.lab.boxes["boxb"].run(["systemctl", "restart", UNIT], timeout=240)
        time.sleep(1)
        report = load.stop()
    print(f"systemctl restart of one copy: {report}")
    assert report.failures == []


def test_a_killed_engine_comes_back(floor: Floor) -> None:
    box = floor.lab.boxes["boxb"]
    until("both copies in the pool", lambda: len(pool(floor.lab)) == 2, 30)
    box.run(["systemctl", "kill", "--signal=SIGKILL", UNIT])
    out = until("out of the pool", lambda: pool(floor.lab) == ["flagship@boxa"], 6)
    assert chat(floor.lab)[0] == 200
    back = until("in the pool", lambda: len(pool(floor.lab)) == 2, 240, 0.2)
    print(f"out of the pool {out:.2f} s after the kill, back {back:.2f} s later")
