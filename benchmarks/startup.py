"""How long `floor --help` takes, against `python -c pass` on the same machine, in turns, medians.

python benchmarks/startup.py [--rounds 15]

The goal is 0.2 s; the ratio says the same on a slow or busy machine.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

GOAL = 0.2
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "floor --help": [str(Path(sys.executable).parent / "floor"), "--help"],
    "floor deploy --help": [str(Path(sys.executable).parent / "floor"), "deploy", "--help"],
}


def once(command: list[str]) -> float:
    """Given a command, return the seconds it takes. Raises CalledProcessError where it fails."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for command in COMMANDS.values():
        once(command)  # the first one writes byte code
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            times[name].append(once(command))
    bare = statistics.median(times["python -c pass"])
    for name, found in times.items():
        middle = statistics.median(found)
        print(f"{name:20} {middle * 1000:6.0f} ms  {middle / bare:5.2f} x")
    print(f"goal for floor --help: {GOAL * 1000:.0f} ms")
    return 0 if statistics.median(times["floor --help"]) <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
