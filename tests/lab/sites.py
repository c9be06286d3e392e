"""floor.yaml for the lab: simulated engines, native or in Docker, a copy on each box."""

from __future__ import annotations

from tests.lab.box import Box
from tests.lab.boxes import Lab

SIMULATED = "[/opt/floor/current/bin/python, -I, -m, floor.sim]"
NATIVE = f"{{kind: native, command: {SIMULATED}}}"
# A machine without CAP_SYS_RESOURCE cannot raise the limit of locked memory, as floor asks for every container.
OPTIONS = "['--ulimit=memlock=8388608']"
DOCKER = (
    f"{{kind: docker, image: 'floor-lab/base:1', gpus: none, entrypoint: {SIMULATED}, "
    f"options: {OPTIONS}, volumes: ['/opt/floor:/opt/floor:ro']}}"
)
PORT = 8080
CONTROL = 9900  # of the simulated engines, on each box's loopback
MODEL = "flagship"


def site(
    lab: Lab,
    runtime: str = NATIVE,
    *,
    load_time: float = 2,
    speed: float = 4,
    requests: int = 4,
    args: str = "",
    extra: str = "",
    fabric: bool = False,
) -> str:
    """A model with a copy on each box of the lab, `requests` at once in each.

    `args` are more flags of its engines, `extra` more lines of it; with `fabric` the boxes have theirs.
    """
    names = list(lab.boxes)
    boxes = "\n".join(
        f"  {box.name}: {{host: {box.address}{_fabric(box) if fabric else ''}}}" for box in lab.boxes.values()
    )
    return f"""\
boxes:
{boxes}
models:
  {MODEL}:
    source: /srv/tiny
    context: 8192
    max_requests: {requests}
    utilization: 0.1
    request_time: 60
    start_time: 120
    runtime: {runtime}
    args: {{sim-load-time: {load_time}, sim-speed-factor: {speed}, sim-control-port: {CONTROL}{args}}}
    replicas: [{", ".join(names)}]
{extra}
proxy: {{boxes: [{", ".join(names)}], listen: {PORT}, allow: [{tests(lab)}]}}
health: {{stall: 20}}
"""


def _fabric(box: Box) -> str:
    return f", fabric: {{interface: fab0, address: {box.wire.fabric}}}"


def tests(lab: Lab) -> str:
    """The address from which tests themselves ask engines: this machine's on the lab's bridge."""
    return f"{lab.subnet}.1"


def proxy(lab: Lab, box: str = "boxa") -> str:
    """The proxy's address on one box."""
    return f"http://{lab.boxes[box].address}:{PORT}"
