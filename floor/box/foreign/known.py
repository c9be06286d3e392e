"""Tells by a command line which engine a process is. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

# what mentions an engine, in a unit, a script or a line of cron
WORDS = re.compile(r"\b(vllm|llama-server|llama\.cpp|ollama|floor\.sim)\b")
_API_SERVER = "vllm.entrypoints.openai.api_server"
_SHELLS = ("sh", "bash", "dash", "zsh", "tmux", "screen", "docker", "nohup", "sudo", "timeout", "env")


def engine(argv: Sequence[str]) -> tuple[str, int] | None:
    """Given a command line, return the engine's dialect and the place of the first word behind `serve`; None for
    others.

    The kernel puts a script's interpreter in front (execve(2)): `/usr/bin/python3 /usr/bin/vllm serve …` is vLLM.
    """
    if not argv or PurePosixPath(argv[0]).name in _SHELLS:
        return None
    interpreted = PurePosixPath(argv[0]).name.startswith("python")
    names = [PurePosixPath(word).name for word in argv[: 6 if interpreted else 1]]
    for place, name in enumerate(names):
        after = argv[place + 1 : place + 2]
        if name in ("vllm", "vllm.entrypoints.cli.main") and list(after) == ["serve"]:
            return "vllm", place + 2
        if name == "floor.sim":
            return _simulated(argv, place + 1)
        if name == _API_SERVER:
            return "vllm", place + 1
        if name == "ollama" and list(after) == ["serve"]:
            return "ollama", place + 2
        if name == "llama-server":
            return "llamacpp", place + 1
    return None


def _simulated(argv: Sequence[str], at: int) -> tuple[str, int] | None:
    """floor's own simulated engine, which says itself whose dialect it speaks; its checks and questions are none."""
    dialect = "vllm"
    while at < len(argv) and argv[at].startswith("--sim-"):
        flag, equals, value = argv[at].partition("=")
        at += 1 if equals else 2
        if flag == "--sim-dialect":
            dialect = value if equals else argv[at - 1] if at <= len(argv) else dialect
    if at < len(argv) and argv[at] == "serve":
        return dialect, at + 1
    return (dialect, at) if dialect != "vllm" else None
