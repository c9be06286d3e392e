"""nginx takes what is rendered for a large fleet with long names."""

from __future__ import annotations

import subprocess

from floor.config import parse
from tests.integration.proxy import Proxy


def test_sixty_four_boxes_eight_models_and_the_longest_names() -> None:
    boxes = [f"b{number}-" + "x" * 36 for number in range(10, 74)]
    lines = "\n".join(f"  {name}: {{host: 127.0.1.{number}}}" for number, name in enumerate(boxes, 1))
    names = [f"m{number}-" + "y" * 37 for number in range(8)]
    models = "\n".join(
        f"""  {name}:
    source: /models/m
    port: {9000 + number}
    listen: {8100 + number}
    utilization: 0.1
    runtime: {{kind: native, command: /opt/vllm/bin/vllm}}
    replicas: [{", ".join(boxes)}]"""
        for number, name in enumerate(names)
    )
    proxy = Proxy(parse(f"boxes:\n{lines}\nmodels:\n{models}\nproxy: {{boxes: [{boxes[0]}]}}\n"))
    try:
        proxy.write()
        assert len(proxy.backends) == 512
        tested = subprocess.run(proxy.command("-t", "-q"), capture_output=True, text=True, timeout=20)
        assert tested.stderr == ""
        assert tested.returncode == 0
    finally:
        proxy.stop()
