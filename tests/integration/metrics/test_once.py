"""`floor metrics` without a service: two looks at every copy, one of which is a simulated engine at work."""

from __future__ import annotations

import io
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from floor.agent.call import Call
from floor.agent.calls.metrics import read
from floor.agent.params import Params
from floor.box import paths
from floor.sim.process import SimulatedEngine
from tests.integration.pool.stage import until


def pools(tmp_path: Path, **urls: str) -> Path:
    """The root of a box whose pool knows these backends."""
    backends = [
        {
            "name": f"flagship@{box}",
            "url": url,
            "address": "127.0.0.1",
            "port": int(url.rsplit(":", 1)[1]),
            "weight": 1,
            "box": box,
            "dialect": "vllm",
            "key": False,
            "stall": 300,
        }
        for box, url in urls.items()
    ]
    pool = {"model": "flagship", "upstream": "floor_flagship", "keepalive": 32, "idle": 3, "backends": backends}
    place = paths.under(tmp_path, paths.POOL_SETTINGS)
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"interval": 0.5, "pools": [pool]}))
    return tmp_path


def asked(root: Path, seconds: float = 1.0) -> dict[str, Any]:
    call = Call(Params("metrics.read", {"seconds": seconds}), root, io.BytesIO(), io.BytesIO())
    return json.loads(json.dumps(read(call)))


def nobody() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def chat(url: str) -> None:
    body = {
        "model": "flagship",
        "max_tokens": 4000,
        "messages": [{"role": "user", "content": "Hi"}],
        "ignore_eos": True,
    }
    with (
        httpx.Client(trust_env=False, timeout=30) as client,
        client.stream("POST", f"{url}/v1/chat/completions", json={**body, "stream": True}) as response,
    ):
        for _ in response.iter_bytes():
            if stop.is_set():
                return


stop = threading.Event()


def test_a_busy_copy_and_one_that_is_down(tmp_path: Path) -> None:
    with SimulatedEngine("flagship", max_requests=8, context=8192, speed_factor=2) as engine:
        root = pools(tmp_path, a=engine.url, b=nobody())
        stop.clear()
        clients = [threading.Thread(target=chat, args=(engine.url,)) for _ in range(4)]
        for client in clients:
            client.start()
        until(lambda: engine.state()["running"] == len(clients))
        began = time.monotonic()
        found = asked(root)
        assert time.monotonic() - began < 10
        stop.set()
        for client in clients:
            client.join()
    up, down = found["copies"]
    assert (up["copy"], up["up"], up["requests_running"]) == ("flagship@a", True, 4)
    assert (down["up"], down["reason"], down["generated_tokens_per_second"]) == (False, "refused", None)
    model = found["models"]["flagship"]
    assert (model["copies"], model["up"]) == (2, 1)
    assert model["generated_tokens_per_second"] == up["generated_tokens_per_second"] > 10
    assert 0 <= model["kv_cache_usage_ratio"] <= 1
