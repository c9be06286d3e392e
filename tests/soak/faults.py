"""What a soak does to a lab, one thing after the other, chosen by a seed. Each waits until all is whole again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.lab import faults
from tests.lab.box import Box
from tests.lab.deployment import UNIT, until
from tests.lab.floor import Floor
from tests.lab.shared import UNIT as ADDRESS
from tests.lab.shared import one
from tests.soak.look import whole
from tests.soak.losses import Fault

WHOLE = 120.0  # seconds until all is whole again: an engine starts within five, a box within twenty
Deed = Callable[["Soak", Box], None]


class Soak:
    """The site, the dice, and what was done so far. `progress` is told each deed as it is done."""

    def __init__(self, floor: Floor, seed: int) -> None:
        self.floor, self.lab = floor, floor.lab
        self.dice = random.Random(seed)  # noqa: S311 -- to be repeated, not to be secret
        self.done: list[Fault] = []
        self.first = self.dice.sample(list(DEEDS), len(DEEDS))  # each once, and then as often as its weight says

    def once(self) -> None:
        """Do one thing to one box, and wait until all is whole."""
        weights = [weight for _, weight in DEEDS.values()]
        name = self.first.pop() if self.first else self.dice.choices(list(DEEDS), weights)[0]
        box = self.dice.choice(list(self.lab.boxes.values()))
        kind = KINDS.get(name, "harmless")
        held, began = one(self.lab) == box.name, time.monotonic()
        text = f"{name} on {box.name}"
        print(f"soak: {time.strftime('%H:%M:%S')} {text}", flush=True)
        try:
            DEEDS[name][0](self, box)
            until(f"whole after {text}", lambda: whole(self.lab), WHOLE, every=0.5)
        finally:
            self.done.append(Fault(kind, text, box.name, began, time.monotonic(), held))

    def pause(self, low: float, high: float) -> None:
        """Let some time pass."""
        time.sleep(self.dice.uniform(low, high))


def kill_engine(soak: Soak, box: Box) -> None:
    """As the kernel does when memory runs out."""
    if pid := box.pid(UNIT):
        box.run(["sh", "-c", f"kill -KILL {pid} $(cat /proc/{pid}/task/*/children) 2>/dev/null"], check=False)


def hang_engine(soak: Soak, box: Box) -> None:
    """For less than a copy may be without progress: what it had begun to answer goes on."""
    pid = box.pid(UNIT)
    faults.freeze(box, pid)
    soak.pause(3, 8)
    faults.thaw(box, pid)


def restart_engine(_soak: Soak, box: Box) -> None:
    """By hand: it leaves the pools by itself."""
    box.run(["systemctl", "restart", UNIT], timeout=120)


def floor_restart(soak: Soak, box: Box) -> None:
    soak.floor("restart", box.name)


def floor_killed(soak: Soak, box: Box) -> None:
    """A restart whose caller dies somewhere in it, and the same command again."""
    command = soak.floor.start("restart", box.name)
    soak.pause(0.5, 12)
    command.kill()
    command.communicate()
    soak.floor("restart", box.name)


def drain(soak: Soak, box: Box) -> None:
    soak.floor("drain", f"flagship@{box.name}")
    soak.pause(0, 3)
    soak.floor("undrain", f"flagship@{box.name}")


def reload_proxy(soak: Soak, box: Box) -> None:
    for _ in range(soak.dice.randint(1, 4)):
        box.run(["systemctl", "reload", "floor-proxy.service"])
        soak.pause(0, 0.5)


def kill_proxy(_soak: Soak, box: Box) -> None:
    box.run(["systemctl", "kill", "--signal=KILL", "floor-proxy.service"])


def kill_pool(_soak: Soak, box: Box) -> None:
    box.run(["systemctl", "kill", "--signal=KILL", "floor-pool.service"])


def kill_status_port(_soak: Soak, box: Box) -> None:
    box.run(["systemctl", "kill", "--signal=KILL", "floor-agent.service"])


def kill_keepalived(_soak: Soak, box: Box) -> None:
    box.run(["systemctl", "kill", "--signal=KILL", ADDRESS])


def hand_over(_soak: Soak, box: Box) -> None:
    """The address goes to the other box, if it is here."""
    box.run(["systemctl", "restart", ADDRESS], timeout=120)


def partition(soak: Soak, box: Box) -> None:
    box.partition()
    soak.pause(2, 8)
    box.heal()


def power_cut(soak: Soak, box: Box) -> None:
    box.power_cut()
    soak.pause(1, 6)
    box.boot()


@contextmanager
def full(box: Box) -> Iterator[None]:
    """Where floor keeps its records no byte is free, and then it is as it was before."""
    box.run(["sh", "-c", FULL])
    try:
        yield
    finally:
        box.run(["sh", "-c", "umount -l /var/lib/floor; mount -o remount,size=50% /run"])


# A small file system with the same files on top of the real one, and /run with what it has and no more.
FULL = """
mkdir /tmp/soak && cp -a /var/lib/floor/. /tmp/soak && mount -t tmpfs -o size=$(du -sk /tmp/soak | cut -f1)k soak \
/var/lib/floor && cp -a /tmp/soak/. /var/lib/floor 2>/dev/null; rm -rf /tmp/soak
dd if=/dev/zero of=/var/lib/floor/full bs=1k 2>/dev/null
mount -o remount,size=$(du -skx /run | cut -f1)k /run
true
"""


def disk_full(soak: Soak, box: Box) -> None:
    """Nothing can be written down: what serves goes on, and a command says what is the matter."""
    with full(box):
        soak.pause(1, 3)
        said = soak.floor("drain", f"flagship@{box.name}", code=None)
        soak.pause(1, 4)
    print(f"soak: with a full disk: {(said.stderr or said.stdout).strip().splitlines()[-1:]}")
    soak.floor("undrain", f"flagship@{box.name}", code=None)


# How often each is chosen, against the others.
DEEDS: dict[str, tuple[Deed, int]] = {
    "kill the engine": (kill_engine, 4),
    "hang the engine": (hang_engine, 1),
    "restart the engine by hand": (restart_engine, 2),
    "floor restart": (floor_restart, 2),
    "floor restart, killed and again": (floor_killed, 2),
    "drain and undrain": (drain, 2),
    "reload nginx": (reload_proxy, 2),
    "kill nginx": (kill_proxy, 1),
    "kill the pool": (kill_pool, 2),
    "kill the status port": (kill_status_port, 1),
    "kill keepalived": (kill_keepalived, 1),
    "hand the address over": (hand_over, 2),
    "partition": (partition, 2),
    "power cut": (power_cut, 2),
    "full disk": (disk_full, 2),
}
KINDS = {
    "kill the engine": "engine",
    "hang the engine": "hung",
    "kill nginx": "nginx",
    "kill keepalived": "nginx",
    "partition": "cut",
    "power cut": "cut",
}
