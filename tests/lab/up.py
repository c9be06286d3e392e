"""Boot a lab by hand and keep it until Ctrl-C: `python -m tests.lab.up [--boxes 3] [--vllm]`, as root."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from tests.lab.boxes import HOST_NUMBERS, Lab
from tests.lab.machine import LabError


def main() -> int:
    """Boot, tell how to get in, and wait; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.up", description=__doc__)
    parser.add_argument("--boxes", type=int, choices=(1, 2, 3), default=2)
    parser.add_argument("--vllm", action="store_true", help="show real vLLM and a tiny model in the boxes (built once)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        began = time.monotonic()
        with Lab.start(list(HOST_NUMBERS)[: options.boxes], shows_vllm() if options.vllm else {}) as lab:
            print(f"up after {time.monotonic() - began:.1f} s\n{describe(lab)}", flush=True)
            signal.pause()
    except LabError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("the lab is gone")
    return 0


def shows_vllm() -> dict[str, Path]:
    """Return the folders that put real vLLM into the boxes."""
    from tests.real.environment import shows

    return shows()


def describe(lab: Lab) -> str:
    """Return the lines that tell a person how to use the lab."""
    lines = [f"{box.name}  {box.address}  nsenter --target {box.leader} --all" for box in lab.boxes.values()]
    return "\n".join(
        [
            *lines,
            f"client  {lab.client.address}  {' '.join(lab.client.enter())} COMMAND",
            f"ssh -F {lab.ssh_config} boxa        (as ops, who may sudo; boxa-root is root)",
            f"export PATH={lab.path}:$PATH        (then plain `ssh boxa` works, for floor too)",
            "Ctrl-C removes it all",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
