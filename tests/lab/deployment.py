"""What tests ask of a deployed lab: chats through the proxy, pool membership, waiting until something is so."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.commands import CommandFailed
from tests.lab.floor import Floor
from tests.lab.machine import LabError
from tests.lab.sites import CONTROL, MODEL, PORT

UNIT = f"floor-copy-{MODEL}.service"


def set_up(lab: Lab, floor: Floor) -> None:
    """Make all boxes ready, from bare ones, side by side."""

    def one(name: str) -> None:
        lab.boxes[name].run(["mkdir", "-p", "/srv/tiny"])
        floor("setup", name, "--yes")

    with ThreadPoolExecutor() as pool:
        list(pool.map(one, lab.boxes))


def deployed(lab: Lab, folder: Path, text: str, mode: str = "replicas") -> Floor:
    """Given a new lab, an empty folder, a floor.yaml and a mode, return the command there, with the boxes set up and
    deployed to."""
    floor = Floor(lab, folder)
    floor.write(text)
    set_up(lab, floor)
    floor("deploy", "--mode", mode)
    return floor


def chat(lab: Lab, box: str = "boxa", *, stream: bool = False, tokens: int = 4, timeout: float = 30) -> tuple[int, str]:
    """Send one chat from the client's namespace through one box's proxy; return status and body."""
    body = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": tokens, "stream": stream}
    url = f"http://{lab.boxes[box].address}:{PORT}/v1/chat/completions"
    words = ["curl", "-sS", "-N", "-m", str(timeout), "-w", "\n%{http_code}", "-H", "Content-Type: application/json"]
    done = lab.client.run([*words, "-d", json.dumps(body), url], check=False, timeout=timeout + 10)
    text, _, status = done.stdout.rpartition("\n")
    return int(status or 0), text


def pool(lab: Lab, box: str = "boxa") -> list[str]:
    """Who is in the pool of a proxy box, as its pool service says."""
    state = json.loads(lab.boxes[box].read("/run/floor/pool/state.json"))
    return list(state["pools"][MODEL]["members"])


def in_both(lab: Lab) -> bool:
    """Whether both copies are in the pools of both boxes; False while one of them cannot be asked."""
    try:
        return all(len(pool(lab, name)) == 2 for name in lab.boxes)
    except (LabError, CommandFailed, KeyError):
        return False


def until(what: str, so: Callable[[], bool], seconds: float, every: float = 0.05) -> float:
    """Wait until `so()`; return the seconds it took. Fail with `what` when it is not so in time."""
    began = time.monotonic()
    while not so():
        waited = time.monotonic() - began
        assert waited < seconds, f"{what}: not within {seconds} s"
        time.sleep(every)
    return time.monotonic() - began


def stays(what: str, so: Callable[[], bool], seconds: float, every: float = 0.1) -> None:
    """Look for so many seconds whether `so()` is the case all the time; fail with `what` when it once is not."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        assert so(), f"{what}: no more after {waited:.1f} s"
        time.sleep(every)


def left(box: Box) -> int:
    """How often the copy of a box has left its pools by itself before it was stopped, in this boot."""
    said = box.run(["journalctl", "-b", "-u", UNIT, "-o", "cat", "--no-pager"]).stdout
    return said.count(": may be stopped, ")


def fault(box: Box, **order: Any) -> None:
    """Order a fault of the simulated engine on a box, as `POST /sim/faults` takes it."""
    words = ["curl", "-sS", "-f", "-d", json.dumps(order), f"http://127.0.0.1:{CONTROL}/sim/faults"]
    box.run(words)


def invocations(lab: Lab) -> dict[str, dict[str, str]]:
    """Of every unit of floor on every box, the id of the run it is in: a restart shows."""
    found: dict[str, dict[str, str]] = {}
    for box in lab.boxes.values():
        names = box.run(["systemctl", "list-units", "--plain", "--no-legend", "floor*"]).stdout.split("\n")
        # A round of the watchdog is a run of its own twice a minute, whatever is deployed.
        units = [name for line in names if line.strip() and (name := line.split()[0]) != "floor-watchdog.service"]
        shown = box.run(["systemctl", "show", "-p", "Id,InvocationID", *units]).stdout.split("\n\n")
        rows = [dict(line.split("=", 1) for line in block.strip().split("\n")) for block in shown if block.strip()]
        found[box.name] = {row["Id"]: row["InvocationID"] for row in rows}
    return found


# What services write of their own accord, whatever is deployed: that it is there is compared, not when it was written.
OF_SERVICES = {
    "/var/lib/floor/guard-history.json": "floor-guard keeps its readings every ten minutes",
    "/var/lib/floor/events.jsonl": "everybody appends to it; what is no service's is compared line by line",
}
SERVICES = ("pool", "guard", "watchdog", "group")  # who events are of that no command has caused


def written(lab: Lab) -> dict[str, list[str]]:
    """Of every box all files of floor's with the time of their last change, all folders, and the events of commands.

    A folder's own time tells nothing more: it changes when a name comes or goes, which the list shows, and when a
    file is renamed over another, which changes that file.
    """
    find = ["find", "/etc/floor", "/etc/systemd/system", "/var/lib/floor", "/opt/floor/current"]
    find += ["-printf", "%p %y %m %u:%g %T@ %C@\n"]
    found = {}
    for box in lab.boxes.values():
        rows = [line.split() for line in box.run(find).stdout.splitlines()]
        found[box.name] = [" ".join(row[:4] if row[1] == "d" or row[0] in OF_SERVICES else row) for row in rows]
        lines = box.read("/var/lib/floor/events.jsonl").splitlines()
        found[box.name] += [line for line in lines if json.loads(line)["who"] not in SERVICES]
    return found


def status(floor: Floor) -> dict[str, Any]:
    """`floor status --json`."""
    return dict(json.loads(floor("status", "--json").stdout))
