"""A floor.yaml with every kind of copy, and the states that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floor.config import parse
from floor.desired.build import build
from floor.desired.state import BoxFacts, BoxState

FILE = """
boxes:
  spark-a: {host: 192.0.2.11}
  spark-b: {host: spark-b.example, status_port: 9000}
  mac: {host: 192.0.2.20, managed: false}
models:
  flagship:
    source: /models/flagship-nvfp4
    context: 262144
    kv_cache: fp8
    runtime: {kind: docker, image: "registry.example/vllm:1", volumes: ["/srv/templates:/templates:ro"]}
    args: {speculative-config: {method: mtp, num_speculative_tokens: 4}, chat-template: "/templates/100% $x.jinja"}
    env: {NCCL_DEBUG: "a b"}
    replicas: [spark-a, {box: spark-b, utilization: 0.74, weight: 3}, mac]
  small.embed:
    source: /models/small
    listen: 8081
    port: 8001
    request_time: 60
    start_time: 90
    utilization: 0.1
    runtime: {kind: native, command: [/opt/floor/current/bin/python, -I, -m, floor.sim]}
    replicas: [spark-b]
proxy: {boxes: [spark-a], listen: 8080}
health: {stall: 120, min_speed: 2.5}
"""
# For a split: both boxes get a fabric.
FABRIC = (
    ("{host: 192.0.2.11}", "{host: 192.0.2.11, fabric: {interface: fab0, address: 198.51.100.1}}"),
    ("{host: spark-b.example,", "{host: spark-b.example, fabric: {interface: fab0, address: 198.51.100.2},"),
)
ADDRESSES = {"spark-a": "192.0.2.11", "spark-b": "192.0.2.12", "mac": "192.0.2.20"}


def make(
    *replaced: tuple[str, str],
    addresses: Mapping[str, str | None] = ADDRESSES,
    release: str = "0.1.0+abc",
    **facts: Any,
) -> dict[str, BoxState]:
    """The states of FILE with some of its text replaced, for hosts that resolve to `addresses`."""
    text = FILE
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    boxes = {name: BoxFacts(address, **facts) for name, address in addresses.items()}
    return build(parse(text), "replicas", boxes, release)
