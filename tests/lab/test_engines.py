"""llama.cpp's server and Ollama beside vLLM, as simulated engines: native on one box, in Docker on the other."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack

import pytest

from tests.lab.boxes import Lab
from tests.lab.deployment import invocations, set_up, until
from tests.lab.floor import Floor
from tests.lab.sites import OPTIONS
from tests.load.running import Report, Running

PYTHON = "/opt/floor/current/bin/python"
FILE = "/srv/tiny/llama.gguf"
STORE = "/srv/ollama"
LISTEN = {"llama": 8080, "small": 8081, "mixed": 8082, "vectors": 8083}
CLIENTS = 4


def words(*more: str) -> str:
    return f"[{', '.join((PYTHON, '-I', '-m', 'floor.sim', *more))}]"


def native(*more: str) -> str:
    return f"{{kind: native, command: {words(*more)}}}"


def docker(*more: str) -> str:
    rest = f"gpus: none, options: {OPTIONS}, volumes: ['/opt/floor:/opt/floor:ro']"
    return f"{{kind: docker, image: 'floor-lab/base:1', entrypoint: {words(*more)}, {rest}}}"


LLAMA = ("--sim-dialect=llamacpp", "--sim-load-time=1", "--sim-speed-factor=4")
OLLAMA = ("--sim-dialect=ollama", "--sim-load-time=1", "--sim-speed-factor=4")


def site(lab: Lab) -> str:
    """Four models: each engine on both boxes, a pool of two engines, and embeddings on one box."""
    boxes = "\n".join(f"  {box.name}: {{host: {box.address}}}" for box in lab.boxes.values())
    times = "context: 4096, max_requests: 8, request_time: 60, start_time: 120"
    return f"""\
boxes:
{boxes}
models:
  llama: {{engine: llamacpp, source: {FILE}, {times}, port: 8000, listen: 8080, runtime: {native(*LLAMA)},
    replicas: [boxa, {{box: boxb, runtime: {docker(*LLAMA)}}}]}}
  small: {{engine: ollama, source: {STORE}, {times}, port: 8001, listen: 8081, runtime: {native(*OLLAMA)},
    replicas: [boxa, {{box: boxb, runtime: {docker(*OLLAMA)}}}]}}
  mixed: {{source: /srv/tiny, {times}, utilization: 0.1, port: 8002, listen: 8082, runtime: {native()},
    replicas: [boxa, {{box: boxb, engine: llamacpp, source: {FILE}, runtime: {native(*LLAMA)}}}]}}
  vectors: {{engine: llamacpp, task: embed, source: {FILE}, {times}, port: 8003, listen: 8083,
    runtime: {native(*LLAMA)}, replicas: [boxa]}}
proxy: {{boxes: [boxa, boxb]}}
health: {{stall: 20}}
"""


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up, with weights of every kind, and deployed to; once for this module."""
    floor = Floor(clean_lab, tmp_path_factory.mktemp("site"))
    floor.write(site(clean_lab))
    set_up(clean_lab, floor)
    for box in clean_lab.boxes.values():
        box.put(FILE, "GGUF")
        box.put(f"{STORE}/manifests/registry.ollama.ai/library/small/latest", "{}")
    began = time.monotonic()
    floor("deploy", "--mode", "replicas")
    print(f"seven copies of three engines deployed in {time.monotonic() - began:.1f} s")
    return floor


def members(lab: Lab, model: str) -> list[str]:
    state = json.loads(lab.boxes["boxa"].read("/run/floor/pool/state.json"))
    return list(state["pools"][model]["members"])


def under_load(floor: Floor, *backends: str) -> list[Report]:
    """Restart some backends one after the other while clients who never retry ask their models."""
    models = sorted({name.partition("@")[0] for name in backends})
    box = floor.lab.boxes["boxa"]
    with ExitStack() as stack:
        loads = [
            stack.enter_context(
                Running(
                    f"http://{box.address}:{LISTEN[model]}",
                    model,
                    *("--clients", str(CLIENTS), "--tokens", "40", "--stream", "both"),
                    enter=floor.lab.client.enter(),
                )
            )
            for model in models
        ]
        floor("restart", *backends)
        time.sleep(1)
        reports = [load.stop() for load in loads]
    for model, report in zip(models, reports, strict=True):
        print(f"rolling restart under load, {model}: {report}")
    return reports


def test_every_engine_serves_and_is_verified(floor: Floor) -> None:
    told = floor("verify").stdout
    for model in ("llama", "small", "mixed"):
        assert f"ok  boxb: streamed chat with {model}: 200" in told
        assert len(members(floor.lab, model)) == 2
    assert "ok  boxb: embedding with vectors: 200" in told
    assert "FAILED" not in told
    assert floor("health").returncode == 0


def test_again_nothing_is_touched(floor: Floor) -> None:
    before = invocations(floor.lab)
    assert floor("deploy").stdout.strip() == "nothing to do"
    assert invocations(floor.lab) == before


def test_a_rolling_restart_loses_no_request(floor: Floor) -> None:
    """llama.cpp and Ollama cut what runs when they are stopped: all must be over before."""
    before = invocations(floor.lab)
    for report in under_load(floor, "llama@boxa", "llama@boxb", "small@boxa", "small@boxb"):
        assert report.failures == []
        assert report.sent >= 20
    after = invocations(floor.lab)
    for box, unit in (("boxa", "llama"), ("boxb", "llama"), ("boxa", "small"), ("boxb", "small")):
        name = f"floor-copy-{unit}.service"
        assert before[box][name] != after[box][name]


def test_llamacpp_asks_for_the_key_and_ollama_cannot(floor: Floor) -> None:
    """From the box itself, past the proxy; no secret is in a command line."""
    box = floor.lab.boxes["boxa"]
    ask = ["curl", "-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}"]
    assert box.run([*ask, f"http://{box.address}:8000/v1/models"]).stdout == "401"
    assert box.run([*ask, f"http://{box.address}:8000/metrics"]).stdout == "401"
    assert box.run([*ask, f"http://{box.address}:8001/v1/models"]).stdout == "200"
    key = box.read("/etc/floor/secrets/engine.key").strip()
    assert key not in box.run(["ps", "axeww", "-o", "args="]).stdout.replace(f"LLAMA_API_KEY={key}", "").replace(
        f"VLLM_API_KEY={key}", ""
    )


def test_ollamas_administration_is_not_behind_the_proxy(floor: Floor) -> None:
    address = floor.lab.boxes["boxa"].address
    ask = ["curl", "-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}"]
    for path in ("/api/pull", "/api/delete", "/api/ps", "/api/tags", "/"):
        assert floor.lab.client.run([*ask, f"http://{address}:{LISTEN['small']}{path}"]).stdout == "404", path
    foreign = [*ask, "-H", "Origin: http://ui.example", f"http://{address}:{LISTEN['small']}/v1/models"]
    assert floor.lab.client.run(foreign).stdout == "200"


def test_a_killed_engine_comes_back(floor: Floor) -> None:
    box = floor.lab.boxes["boxa"]
    box.run(["systemctl", "kill", "--signal=SIGKILL", "floor-copy-llama.service"])
    out = until("out of the pool", lambda: members(floor.lab, "llama") == ["llama@boxb"], 6)
    back = until("in the pool", lambda: len(members(floor.lab, "llama")) == 2, 60)
    print(f"llama.cpp out of the pool {out:.2f} s after the kill, back after {back:.2f} s")
