"""A model split over both boxes of the lab, with simulated ranks, and what a test asks of its parts."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.commands import CommandFailed
from tests.lab.deployment import chat
from tests.lab.machine import LabError
from tests.lab.sites import CONTROL, MODEL, site

UNIT = f"floor-group-{MODEL}.service"
LOAD = 4.0  # seconds that the ranks load once they have met
GROUP = f"{MODEL}@boxa+boxb"


CARD = ", sim-device-lock: /tmp/card"


def split_site(lab: Lab, args: str = CARD) -> str:
    """floor.yaml: a copy on each box, or both together by way of the fabric; by default a rank keeps a lock that stands
    for its box's card."""
    split = f"    split: {{boxes: [{', '.join(lab.boxes)}], tensor_parallel: 2}}"
    return site(lab, load_time=LOAD, speed=1, args=args, extra=split, fabric=True)


def told(box: Box) -> dict[str, Any] | None:
    """What a box tells of its part, over its status port; None while it tells nothing."""
    ask = 'curl -sS -m 3 -H "Authorization: Bearer $(cat /etc/floor/secrets/status.key)" http://$0:8099/status'
    try:
        done = box.run(["sh", "-c", ask, box.address], check=False)
        return dict(json.loads(done.stdout)["groups"][MODEL])
    except (LabError, CommandFailed, ValueError, KeyError):
        return None


def state(box: Box) -> dict[str, Any] | None:
    """What the rank of a box says of itself; None where there is none."""
    try:
        done = box.run(["curl", "-sS", "-f", "-m", "3", f"http://127.0.0.1:{CONTROL}/sim/state"], check=False)
        return dict(json.loads(done.stdout))
    except (LabError, CommandFailed, ValueError):
        return None


def generates(lab: Lab) -> bool:
    """Whether a chat through the proxy of boxa is answered. One that is off answers nothing."""
    try:
        return chat(lab, timeout=5)[0] == 200
    except (LabError, CommandFailed):
        return False


class Generations:
    """Which generations the ranks of both boxes are of, looked at again and again: never two at once."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.seen: list[tuple[str | None, ...]] = []

    def look(self) -> tuple[str | None, ...]:
        """Return the generation of each box's rank, None where there is none. Fail if there are two."""
        found = [told(box) if box.is_on() else None for box in self.lab.boxes.values()]
        now = tuple(
            one["generation"] if one is not None and one["phase"] in ("going", "running") else None for one in found
        )
        if not self.seen or self.seen[-1] != now:
            self.seen.append(now)
        return now

    def until(self, what: str, so: Any, seconds: float) -> float:
        """Wait until `so()`, looking all the time; return the seconds it took."""
        began = time.monotonic()
        while not so():
            self.look()
            waited = time.monotonic() - began
            assert waited < seconds, f"{what}: not within {seconds} s; generations seen: {self.seen}"
            time.sleep(0.1)
        return time.monotonic() - began
