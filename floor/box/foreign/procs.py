"""Processes of this machine that are engines, that listen, or that hold a GPU: whose they are, and how they were
started."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from floor.box.foreign import hidden, known, sockets

# what of an environment says how an engine runs; the rest is a login's own
_TELLING = re.compile(
    r"(VLLM|LLAMA|GGML|OLLAMA|CUDA|NCCL|GLOO|UCX|HF|HUGGING_FACE|TRANSFORMERS|TORCH|TORCHINDUCTOR|TORCHDYNAMO|PYTORCH|"
    r"TRITON|FLASHINFER|RAY|OMP|MKL|ONEDNN|ATEN|HIP|HSA|ROCR|NVIDIA|TIKTOKEN|OPENAI|FLOOR_SIM|TP_SOCKET)(_|$)"
)
LARGE = 8 << 30  # bytes of memory of one process that are worth telling beside an engine
_CONTAINER = re.compile(r"(?:docker[-/]|libpod-)([0-9a-f]{64})")
_UNIT = re.compile(r"/([^/]+\.service)(?:/|$)")


def every(proc: Path, docker: Iterable[tuple[str, str]] = (), on_gpu: Collection[int] = ()) -> list[dict[str, Any]]:
    """Given /proc, the ids and names of containers and the processes that the GPU's driver knows, return those that
    matter: engines, whoever listens, holds a GPU, or much of the memory.

    Each: {pid, parent, argv, engine, at, hidden, user, folder, env, env_hidden, owner: {kind, name}, ports, gpu,
    ticks, memory}. `at` is the place in argv of what follows `serve`; memory is resident bytes; children of an engine
    that are of the same kind are left out.
    """
    names = dict(docker)
    listens = sockets.listening(proc)
    found = []
    for pid in _pids(proc):
        argv = _words(proc / str(pid) / "cmdline")
        if not argv or pid == os.getpid():
            continue
        inodes, gpu = sockets.of(pid, proc)
        ports = sorted({place for inode in inodes for place in listens.get(inode, ())})
        kind = known.engine(argv)
        gpu = gpu or pid in on_gpu
        if kind or ports or gpu or _memory(_status(proc, pid)) >= LARGE:
            found.append(_told(proc, pid, argv, kind, ports, gpu=gpu, names=names))
    return _heads(found)


def _heads(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose parent is not the same thing: workers of an engine or of nginx share its sockets."""
    by_pid = {one["pid"]: one for one in found}
    heads = []
    for one in found:
        parent = by_pid.get(one["parent"])
        if parent is None or (not _same(parent, one)):
            heads.append(one)
    return heads


def _same(parent: dict[str, Any], one: dict[str, Any]) -> bool:
    if one["ports"] and not set(map(tuple, one["ports"])) <= set(map(tuple, parent["ports"])):
        return False
    return bool(parent["engine"]) == bool(one["engine"]) or not one["engine"]


def _told(
    proc: Path,
    pid: int,
    argv: list[str],
    kind: tuple[str, int] | None,
    ports: list[Any],
    *,
    gpu: bool,
    names: dict[str, str],
) -> dict[str, Any]:
    shown, secret_flags = hidden.argv(argv)
    shown = _whole(proc, pid, shown, kind[1] if kind else 1)
    env, secret_names = hidden.environment(dict(_environment(proc, pid))) if kind else ({}, [])
    status = _status(proc, pid)
    return {
        "pid": pid,
        "parent": int(status.get("PPid", "0")),
        "argv": shown,
        "engine": kind[0] if kind else None,
        "at": kind[1] if kind else 0,
        "hidden": secret_flags,
        "user": _user(status.get("Uid", "0").split()[0]),
        "folder": _link(proc / str(pid) / "cwd"),
        "env": env,
        "env_hidden": secret_names,
        "owner": owner(_text(proc / str(pid) / "cgroup"), names),
        "ports": ports,
        "gpu": gpu,
        "ticks": ticks(pid, proc),
        "memory": _memory(status),
    }


def _whole(proc: Path, pid: int, argv: list[str], at: int) -> list[str]:
    """Given a command line and where the engine's own words begin, return it with whole paths of the programs in it."""
    folder = _link(proc / str(pid) / "cwd") or "/"
    path = next((word[5:] for word in _words(proc / str(pid) / "environ") if word.startswith("PATH=")), "")
    found = list(argv)
    for place in range(min(2, at)):
        word = argv[place]
        if word.startswith(("/", "-")) or (place and Path(word).name not in ("vllm", "llama-server")):
            continue
        if "/" in word:
            found[place] = os.path.normpath(f"{folder}/{word}")
        elif place == 0:
            there = (f"{part}/{word}" for part in path.split(":") if part.startswith("/"))
            found[place] = next((one for one in there if os.access(one, os.X_OK)), word)
    return found


def owner(cgroup: str, names: dict[str, str]) -> dict[str, str]:
    """Given /proc/PID/cgroup and names of containers by id, return who keeps the process: {kind, name}.

    Kinds: container, unit, user-unit (of a user's own systemd), session (a login, tmux, nohup).
    """
    if boxed := _CONTAINER.search(cgroup):
        return {"kind": "container", "name": names.get(boxed[1], boxed[1][:12])}
    path = next((line.split(":", 2)[2] for line in cgroup.splitlines() if line.count(":") >= 2 and ".s" in line), "")
    units = _UNIT.findall(path)
    if units and units[0].startswith("user@"):
        inner = [name for name in units if not name.startswith("user@")]
        # tmux's server and shells may live in a scope or service of the user's own manager
        return {"kind": "user-unit", "name": inner[-1]} if inner else {"kind": "session", "name": "a login"}
    if units:
        return {"kind": "unit", "name": units[-1]}
    scope = re.search(r"/([^/]+)\.scope", path)
    return {"kind": "session", "name": scope[1] if scope else "a login"}


def ticks(pid: int, proc: Path) -> int:
    """Given a process, return when it began, in clock ticks since boot (proc(5)): with its number it names one process
    for good. 0 for one that is gone."""
    fields = _text(proc / str(pid) / "stat").rpartition(") ")[2].split()
    return int(fields[19]) if len(fields) > 19 else 0


def ended(pid: int, proc: Path) -> bool:
    """Whether a process has ended and only waits for its parent to notice."""
    return _text(proc / str(pid) / "stat").rpartition(") ")[2].startswith(("Z", "X"))


def _environment(proc: Path, pid: int) -> Iterator[tuple[str, str]]:
    for word in _words(proc / str(pid) / "environ"):
        name, mark, value = word.partition("=")
        if mark and _TELLING.match(name):
            yield name, value


def _pids(proc: Path) -> list[int]:
    try:
        return sorted(int(place.name) for place in proc.iterdir() if place.name.isdigit())
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    text = _text(path)
    return text.rstrip("\0").split("\0") if text.strip("\0") else []


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="surrogateescape").encode(errors="replace").decode(errors="replace")
    except OSError:  # gone, or not ours to see
        return ""


def _link(path: Path) -> str | None:
    try:
        return str(path.readlink())
    except OSError:
        return None


def _status(proc: Path, pid: int) -> dict[str, str]:
    lines = _text(proc / str(pid) / "status").splitlines()
    return {name: value.strip() for name, mark, value in (line.partition(":") for line in lines) if mark}


def _memory(status: dict[str, str]) -> int:
    return int(status.get("VmRSS", "0").split()[0]) * 1024


def _user(uid: str) -> str:
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except (KeyError, ValueError):
        return uid
