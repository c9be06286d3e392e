"""`floor` asleep, or without its boxes, in the middle of its work: what wakes changes nothing, who comes back waits."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import time

import psutil
import pytest

from floor.box.lease import LEASE
from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.deployment import UNIT, chat, deployed, in_both, invocations, pool, until
from tests.lab.floor import Floor
from tests.lab.sites import CONTROL, site

SEED = 20261130


@pytest.fixture(scope="module")
def floor(clean_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Floor:
    """Both boxes set up and deployed to, once for this module."""
    return deployed(clean_lab, tmp_path_factory.mktemp("site"), site(clean_lab, load_time=1))


def whole(floor: Floor) -> None:
    """Wait until both copies are in both pools, and leave nothing to do."""
    floor("deploy")
    until("both copies in both pools", lambda: in_both(floor.lab), 60)


def option(floor: Floor, name: str) -> str:
    """An option as floor.yaml has it."""
    return floor.config.read_text().split(f"{name}: ")[1].split()[0].rstrip(",")


def starting(box: Box) -> bool:
    return box.run(["systemctl", "is-active", UNIT], check=False).stdout.strip() == "activating"


def active(box: Box) -> bool:
    return box.run(["systemctl", "is-active", UNIT], check=False).stdout.strip() == "active"


def records(floor: Floor) -> list[str]:
    """What the boxes keep of operations, drains and floor.yaml."""
    files = ["operation.json", "drains.json", "floor.yaml", "configs.json"]
    words = ["sh", "-c", "cd /var/lib/floor && tail -n +1 " + " ".join(files)]
    return [box.run(words, check=False).stdout for box in floor.lab.boxes.values()]


def sleep(process: subprocess.Popen[str]) -> list[int]:
    """Stop a process and all that it has started, as a laptop does whose lid is closed; return their ids."""
    os.kill(process.pid, signal.SIGSTOP)
    asleep = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
    for pid in asleep[1:]:
        os.kill(pid, signal.SIGSTOP)
    return asleep


def asked(box: Box, tokens: int) -> int:
    """How many chats of so many tokens the engine of a box was sent."""
    body = {
        "model": "flagship",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": tokens,
        "stream": False,
    }
    sent = hashlib.sha256(json.dumps(body).encode()).hexdigest()
    state = json.loads(box.run(["curl", "-sS", f"http://127.0.0.1:{CONTROL}/sim/state"]).stdout)
    return sum(post["sha256"] == sent for post in state["posts"])


def cut(box: Box) -> None:
    """Its power is gone, and comes back after a while."""
    box.power_cut()
    time.sleep(3)
    box.boot()


def away(box: Box) -> None:
    """Its network is gone for some seconds."""
    box.partition()
    time.sleep(8)
    box.heal()


def test_a_laptop_that_sleeps_in_the_middle_of_a_restart(floor: Floor) -> None:
    """The copy that it had taken out comes back by itself, status says who left what, what wakes changes nothing."""
    lab = floor.lab
    whole(floor)
    floor.edit("sim-load-time: 1", "sim-load-time: 6")
    process = floor.start("restart")
    until("boxa's copy is out and starts", lambda: starting(lab.boxes["boxa"]), 60)
    asleep = sleep(process)
    began = time.monotonic()
    took = until("back by itself", lambda: in_both(floor.lab), 2 * LEASE, every=0.5)
    print(f"the copy is back in both pools by itself {took:.0f} s after the laptop fell asleep")
    found = floor("status").stdout
    assert "abandoned by root@" in found
    assert ": floor restart, begun " in found
    assert "`floor restart flagship@boxa flagship@boxb` finishes it, `floor deploy --abort` goes back to what" in found
    done = floor("deploy", "--ungated")  # of another floor.yaml than the one that it worked from
    assert "takes over from operation" in done.stdout
    before = invocations(lab), records(floor)
    print(f"awake again after {time.monotonic() - began:.0f} s")
    for pid in asleep:
        os.kill(pid, signal.SIGCONT)
    said, _ = process.communicate(timeout=60)
    print(said)
    assert process.returncode == 4
    assert "does not hold this box" in said
    assert (invocations(lab), records(floor)) == before
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_a_box_that_missed_a_deployment_answers_nobody_until_it_is_reconciled(floor: Floor) -> None:
    """It is a proxy itself, and boots with the pool and the copy of before."""
    whole(floor)
    box = floor.lab.boxes["boxb"]
    box.power_cut()
    floor.edit(f"sim-load-time: {option(floor, 'sim-load-time')},", "sim-load-time: 3,")  # which was never deployed
    done = floor("deploy", "--force", "--ungated", code=1)  # the one copy that is left has to restart
    assert "keep flagship@boxb out of the pool" in done.stdout
    box.boot()
    old = until("its old build is warm", lambda: active(box), 60)
    ends = time.monotonic() + 8
    while time.monotonic() < ends:
        for one in floor.lab.boxes:
            chat(floor.lab, one, tokens=7)
        assert "flagship@boxb" not in pool(floor.lab, "boxa")
    print(f"its old build was warm {old:.1f} s after its boot, and {asked(box, 7)} clients got an answer from it")
    assert asked(box, 7) == 0
    floor("deploy")
    until("both copies in both pools", lambda: in_both(floor.lab), 20)
    assert floor("deploy").stdout.strip() == "nothing to do"


def test_boxes_that_fall_at_seeded_points(floor: Floor) -> None:
    """A box loses its power, or its network for some seconds, in the middle of a deployment."""
    whole(floor)
    chance = random.Random(SEED)  # noqa: S311 # not for secrets
    for number, fall in enumerate([cut, away, cut]):
        number += 10
        floor.edit(f"max_requests: {option(floor, 'max_requests')}", f"max_requests: {number}")
        process = floor.start("deploy")
        time.sleep(chance.uniform(1, 8))
        box = floor.lab.boxes[chance.choice(["boxa", "boxb"])]
        fall(box)
        said, _ = process.communicate(timeout=240)
        print(f"{fall.__name__} of {box.name}: exit {process.returncode}\n{said}")
        assert process.returncode in (0, 1, 4, 5)
        assert "Traceback" not in said
        until("the box is up", lambda box=box: active(box), 60)  # type: ignore[misc] # of this round
        floor("deploy")
        until("both copies in both pools", lambda: in_both(floor.lab), 60)
        assert floor("deploy").stdout.strip() == "nothing to do"
