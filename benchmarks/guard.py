"""What the memory guard takes of a core: at rest (a sample a second) and at its fastest (twenty), without waiting.

Run: `python benchmarks/guard.py`. The real service works on this machine's own /proc for simulated minutes: its clock
is moved, its processor time is measured. What systemd is asked four times a minute is timed where there is systemd.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from floor.box.command import Result
from floor.box.units import show_argv
from floor.guard.sampler import EVERY, Sampler
from floor.guard.service import Service
from floor.guard.settings import Copy, Settings

UNIT = "floor-copy-flagship.service"
SHOWN = (
    f"Id={UNIT}\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=0\nControlGroup=/system.slice/{UNIT}\n"
)
SECONDS = 600.0
GOAL = 0.01  # of a core, at rest


def taken(root: Path, every: float) -> float:
    """The share of a core with a sample each `every` seconds."""
    at = 0.0
    settings = Settings("protect", None, 0, (Copy("flagship@box", UNIT, False, True, 0.5, None),))

    def clock() -> float:
        return at

    def show(_argv: Sequence[str], _timeout: float) -> str:
        return SHOWN

    def run(_argv: Sequence[str], **_kept: object) -> Result:
        return Result(None, "", "")

    sampler = Sampler(settings, root, clock, show, run, None)
    service = Service(settings, sampler, root, lambda _: None, clock, clock)
    began = time.process_time()
    while at < SECONDS:
        service.step()
        at += every
    return (time.process_time() - began) / SECONDS


def asking() -> float:
    """Seconds of a core that one question to systemd takes, 0 where there is none."""
    if shutil.which("systemctl") is None:
        return 0.0
    took = []
    for _ in range(20):
        began = time.perf_counter()
        subprocess.run(show_argv([UNIT]), capture_output=True, check=False)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("proc", "sys"):
            (root / name).symlink_to(f"/{name}")
        (root / "run/floor/guard").mkdir(parents=True)
        (root / "var/lib/floor").mkdir(parents=True)
        rest, fastest = (statistics.median(taken(root, every) for _ in range(3)) for every in (1.0, 0.05))
    more = asking() / EVERY
    print(f"at rest, a sample a second:       {rest:.2%} of a core")
    print(f"twenty samples a second:          {fastest:.2%} of a core")
    print(f"asking systemd four times a minute: {more:.2%} of a core")
    print(f"at rest in all: {rest + more:.2%} (goal: {GOAL:.0%})")
    return 0 if rest + more < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
