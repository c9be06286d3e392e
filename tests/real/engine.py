"""Starting real vLLM by hand in a box, without floor, and asking it."""

from __future__ import annotations

import httpx

from tests.lab.box import Box
from tests.lab.docker_image import IMAGE
from tests.lab.waiting import wait_for
from tests.real.environment import ENVIRONMENT, FLAGS, MODEL, VLLM

PORT = 8000


def serve_flags(box: Box) -> list[str]:
    """Return what follows `vllm serve`."""
    return [MODEL, "--served-model-name", "tiny", "--host", box.address, "--port", str(PORT), *FLAGS]


def serve_natively(box: Box) -> None:
    """Start vLLM as the unit `vllm` of the box."""
    settings = [f"--setenv={name}={value}" for name, value in ENVIRONMENT.items()]
    box.run(["systemd-run", "--unit=vllm", *settings, f"{VLLM}/bin/vllm", "serve", *serve_flags(box)])


def serve_in_docker(box: Box) -> None:
    """Start vLLM as the container `vllm` of the box; its worker processes share more memory than docker's 64 MB."""
    settings = [word for name, value in ENVIRONMENT.items() for word in ("--env", f"{name}={value}")]
    folders = [word for place in (VLLM, MODEL) for word in ("--volume", f"{place}:{place}:ro")]
    box.run(["docker", "run", "--detach", "--name=vllm", "--network=host", "--ipc=host", *settings, *folders,
             IMAGE, *serve_flags(box)])  # fmt: skip


def await_ready(box: Box, timeout: float = 180.0) -> float:
    """Wait until the box's /health is 200; return the seconds that took."""
    return wait_for(f"vLLM on {box.name}", lambda: is_healthy(box), timeout, 0.5)


def is_healthy(box: Box) -> bool:
    """Return whether the box's /health is 200."""
    try:
        return httpx.get(f"http://{box.address}:{PORT}/health", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def tokens_of_a_chat(box: Box, tokens: int = 16) -> int:
    """Ask for a chat answer of exactly `tokens` tokens; return how many vLLM says it made."""
    body = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Say something."}],
        "max_tokens": tokens,
        "min_tokens": tokens,
    }
    answer = httpx.post(f"http://{box.address}:{PORT}/v1/chat/completions", json=body, timeout=60)
    return int(answer.raise_for_status().json()["usage"]["completion_tokens"])
