"""What an engine finds in its environment, whatever runs it. Secrets are not among it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

# systemd's own default, and where CUDA's compiler is, which engines call for kernels that they compile themselves
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin"


def offline() -> dict[str, str]:
    """Nothing is fetched while serving, and nothing is reported."""
    return {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}


def caches(folder: str) -> dict[str, str]:
    """Given a folder that outlives restarts, return the variables that lead every compile cache into it.

    Losing one costs a start of up to 36 minutes instead of 5 to 13 (story.md, GB10). vLLM and Hugging Face follow
    XDG_CACHE_HOME, FlashInfer makes `.cache/flashinfer` below its base.
    """
    return {
        "XDG_CACHE_HOME": folder,
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
        "TRITON_CACHE_DIR": f"{folder}/triton",
        "FLASHINFER_WORKSPACE_BASE": folder,
        "CUDA_CACHE_PATH": f"{folder}/cuda",
    }


def vllm(folder: str) -> dict[str, str]:
    """Given a folder that outlives restarts, return what vLLM finds in its environment."""
    return {**offline(), **caches(folder)}


def native(program: str, engine: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Given a program, its engine's variables and the file's own, return all that a native unit sets.

    The program's folder leads the PATH: a virtual environment holds the tools (ninja) that its engine calls.
    """
    path = f"{PurePosixPath(program).parent}:{SYSTEM_PATH}"
    return {"PATH": path, **engine, **own}
