"""floor.yaml for real vLLM on the CPU with the tiny model, a copy on each box of the lab."""

from __future__ import annotations

import json

from tests.lab.boxes import Lab
from tests.lab.sites import OPTIONS
from tests.real.environment import ENVIRONMENT, MODEL, VLLM

NATIVE = f"{{kind: native, command: {VLLM}/bin/vllm}}"
DOCKER = (
    f"{{kind: docker, image: 'floor-lab/base:1', gpus: none, entrypoint: [{VLLM}/bin/vllm], "
    f"options: {OPTIONS}, volumes: ['{VLLM}:{VLLM}:ro']}}"
)
MAX_REQUESTS = 8


def split_site(lab: Lab, runtime: str) -> str:
    """The same model with a split beside its copies: tensor parallel over both boxes, by their fabric."""
    text = site(lab, runtime).replace(
        "    replicas:", "    split: {boxes: [boxa, boxb], tensor_parallel: 2}\n    replicas:"
    )
    for box in lab.boxes.values():
        fabric = f"fabric: {{interface: fab0, address: {box.wire.fabric}}}"
        text = text.replace(f"{{host: {box.address}}}", f"{{host: {box.address}, {fabric}}}")
    return text


def site(lab: Lab, runtime: str) -> str:
    """A copy of the tiny model on each box, answered for by a proxy on each."""
    boxes = "\n".join(f"  {box.name}: {{host: {box.address}}}" for box in lab.boxes.values())
    names = ", ".join(lab.boxes)
    env = {name: value for name, value in ENVIRONMENT.items() if name != "HOME"}
    return f"""\
boxes:
{boxes}
models:
  flagship:
    source: {MODEL}
    context: 2048
    max_requests: {MAX_REQUESTS}
    request_time: 120
    start_time: 400
    runtime: {runtime}
    args: {{enforce-eager: true, dtype: float32}}
    env: {json.dumps(env)}
    replicas: [{names}]
proxy: {{boxes: [{names}], listen: 8080}}
"""
