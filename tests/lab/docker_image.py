"""A docker image for the boxes without any registry: the root file system itself, imported once and cached.

It looks like the official vLLM image from outside: its entry point is `vllm serve`, found at the place where the boxes
show the environment, so a run binds that folder into the container.
"""

from __future__ import annotations

import inspect
import subprocess
from pathlib import Path

from tests.lab.box import Box
from tests.lab.cache import cached
from tests.lab.commands import run
from tests.lab.machine import LabError

IMAGE = "floor-lab/base:1"
OTHER_IMAGE = "floor-lab/base:2"  # the same content under another image id, for what must notice a changed image
ENTRYPOINT = 'ENTRYPOINT ["/opt/vllm/bin/vllm","serve"]'
DOCKERFILE = f"FROM {IMAGE}\nLABEL version=2\n"


def docker_seed(box: Box) -> Path:
    """Return a cached /var/lib/docker that holds both images; `box` (off) is booted to make it if there is none yet."""
    made_from = "\n".join((box.lower.parent.name, ENTRYPOINT, DOCKERFILE, inspect.getsource(import_images)))
    return cached("docker", made_from, lambda folder: make_seed(box, folder)) / "docker"


def make_seed(box: Box, folder: Path) -> None:
    """Boot `box` as new, import the images there, and copy its docker folder to `folder`/docker."""
    box.reset()
    import_images(box)
    box.run(["systemctl", "stop", "docker.socket", "docker.service", "containerd.service"])
    run(["cp", "--archive", box.folder / "docker", folder / "docker"], timeout=300)
    box.halt()


def import_images(box: Box) -> None:
    """Import the box's root file system as IMAGE and make OTHER_IMAGE of it. Raises LabError with docker's words."""
    pack = ["tar", "-C", str(box.lower), "--exclude=./var/cache/*", "-c", "."]
    take = [*box.enter(), "docker", "import", "--change", ENTRYPOINT, "-", IMAGE]
    with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
        imported = subprocess.run(take, stdin=packing.stdout, capture_output=True, text=True, timeout=300)
    if packing.returncode != 0 or imported.returncode != 0:
        raise LabError(f"docker import failed in {box.name}: {imported.stderr}")
    box.run(["docker", "build", "--tag", OTHER_IMAGE, "-"], input=DOCKERFILE, timeout=120)
