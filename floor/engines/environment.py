"""What an engine finds in its environment, whatever runs it. Secrets are not among it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def fabric(address: str, interface: str, devices: Sequence[str]) -> dict[str, str]:
    """Given a box's address on the fabric, its interface and its RDMA devices, return what leads a rank over it.

    Without them NCCL, gloo and the rest each take an interface of their own choice. The affinity that a box sets is for
    the network card's own processors, which few boxes have (NCCL_IGNORE_CPU_AFFINITY: NCCL's environment variables).
    """
    names = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES")
    found = {"VLLM_HOST_IP": address, **dict.fromkeys(names, interface), "NCCL_IGNORE_CPU_AFFINITY": "1"}
    return {**found, "NCCL_IB_HCA": ",".join(devices)} if devices else found


def stretches(layers: Sequence[int] | None) -> dict[str, str]:
    """Given the layers of each stage of a pipeline, None for none, return what cuts them there and not evenly."""
    return {} if layers is None else {"VLLM_PP_LAYER_PARTITION": ",".join(str(count) for count in layers)}


def native(program: str, engine: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Given a program, its engine's variables and the file's own, return all that a native unit sets.

    The program's folder leads the PATH: a virtual environment holds the tools (ninja) that its engine calls.
    """
    path = f"{PurePosixPath(program).parent}:{SYSTEM_PATH}"
    return {"PATH": path, **engine, **own}
