"""The times of a copy. All follow from two numbers of floor.yaml, the longest request and the longest start."""

from __future__ import annotations

import math
from dataclasses import dataclass

RESTART_SECONDS = 10  # a port still held or a card still busy is free again within a few of these
# A part of a group waits at its gate for whatever is left, not for the clock; but longer than what another box told of
# it may be old, so that the head does not go with a part that is back at its gate.
PART_RESTART_SECONDS = 2
RESTART_BURST = 10  # so a cause that heals within a minute and a half is survived; a lasting one ends in `failed`
GPU_SECONDS = 120  # after a boot the driver may come later than the unit
STOP_SECONDS = 30  # what an engine needs to end once it has nothing left to finish


@dataclass(frozen=True)
class Times:
    """Seconds. Each number leaves room for the one before it.

    `request`: proxy_read_timeout. `drain`: how long the engine finishes what it has (0: it ends at once).
    `docker_stop`: when docker kills. `stop`: when systemd kills. `start`: when systemd gives a start up.
    `limit`: the window in which RESTART_BURST starts are too many; longer than that many starts take, else the limit
    could never be reached (systemd.unit(5), StartLimitIntervalSec=).
    """

    request: float
    drain: int
    docker_stop: int
    stop: int
    start: int
    limit: int


def times(request_time: float, start_time: float, *, drains: bool) -> Times:
    """Given the longest request and the longest start in seconds, and whether the engine can drain, return all times.

    systemd's stop > docker's > the engine's own drain > the proxy's read timeout (vllm#36666: a shorter one cuts
    answers). The warm-up has `start_time` for itself and tells why it failed, so systemd waits a little longer.
    """
    request = math.ceil(request_time)
    drain = request + 10 if drains else 0
    docker_stop = drain + STOP_SECONDS
    start = math.ceil(start_time) + GPU_SECONDS + 60
    # systemd gives each command of a stop this time; one of them waits for the copy's requests where it cannot itself.
    stop = max(docker_stop, request + 10) + STOP_SECONDS
    limit = RESTART_BURST * (start + RESTART_SECONDS) + 60
    return Times(float(request_time), drain, docker_stop, stop, start, limit)
