"""The build of an engine: what of its command line can change what it answers. The rest are settings of its launch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from floor.engines.docker import DOCKER

Words = tuple[str, ...]
# Where it listens, what it tells, how much it holds, how many it serves, how it is cut and who its ranks are: none of
# that changes an answer.
_LAUNCH = """
    host port served-model-name alias shutdown-timeout metrics
    disable-uvicorn-access-log uvicorn-log-level enable-log-requests no-enable-log-requests disable-log-stats
    max-model-len max-num-seqs max-num-batched-tokens gpu-memory-utilization kv-cache-memory-bytes ctx-size parallel
    threads threads-http n-gpu-layers gpu-layers tensor-split main-gpu
    nnodes node-rank master-addr master-port headless tensor-parallel-size pipeline-parallel-size
"""
LAUNCH = frozenset(f"--{name}" for name in _LAUNCH.split())
VARIABLES = re.compile(
    r"FLOOR_\w+|PATH|HOME|HF_HOME|XDG_CACHE_HOME|\w*_CACHE(_DIR|_PATH)?|FLASHINFER_WORKSPACE_BASE|\w*_OFFLINE|"
    r"VLLM_NO_USAGE_STATS|VLLM_LOGGING_LEVEL|VLLM_PP_LAYER_PARTITION|VLLM_HOST_IP|\w*_IFNAME|UCX_NET_DEVICES|NCCL_\w+|"
    r"OMP_NUM_THREADS|OLLAMA_(HOST|CONTEXT_LENGTH|NUM_PARALLEL|KEEP_ALIVE|ORIGINS|LOAD_TIMEOUT|MAX_QUEUE)"
)
_INTERPRETER = re.compile(r"python[\d.]*")


@dataclass(frozen=True)
class Build:
    """`image` is the id of a container's image (its reference where that is not known), empty for a program of the
    box; `program` what is started, `flags` each with its values, `env` the variables that count."""

    image: str
    program: Words
    flags: tuple[Words, ...]
    env: tuple[tuple[str, str], ...]

    @property
    def digest(self) -> str:
        """Sixteen hex digits that change when any of it does."""
        parts = [self.image, self.program, sorted(self.flags), self.env]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def build(argv: Sequence[str], env: Mapping[str, str], image: str | None = None) -> Build:
    """Given the command line of an engine as floor launches it or as /proc shows it, its environment (of a container:
    of the docker client) and the id of its image where that is known, return its build."""
    if argv[:2] == (DOCKER, "run") and "--entrypoint" in argv:
        options, rest = argv[2 : argv.index("--entrypoint")], argv[argv.index("--entrypoint") + 1 :]
        inside = _after(options, "--env")
        found = {name: value for name, equals, value in (one.partition("=") for one in inside) if equals}
        volumes = tuple(("--volume", one) for one in sorted(_after(options, "--volume")))
        program, flags = _split((rest[0], *rest[2:]))
        return Build(image or rest[1], program, (*volumes, *flags), _counting(found))
    program, flags = _split(_bare(argv))
    return Build("", program, flags, _counting(env))


def changes(old: Build, new: Build) -> list[str]:
    """Given two builds, return what differs, a few words each; empty where they are the same."""
    told = [f"image {old.image[:19]} → {new.image[:19]}"] if old.image != new.image else []
    told += [f"{' '.join(old.program)} → {' '.join(new.program)}"] if old.program != new.program else []
    told += flag_changes(old.flags, new.flags)
    before, after = dict(old.env), dict(new.env)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            told.append(f"{name}={before.get(name, '')} → {after.get(name, '')}")
    return told


def flag_changes(old: Sequence[Words], new: Sequence[Words]) -> list[str]:
    """Given two command lines in pieces, return what differs: `--flag old → new`, what is gone, what is new."""
    added = [words for words in new if words not in old]
    told = []
    for words in (words for words in old if words not in new):
        other = next((each for each in added if each[0] == words[0] and len(words) > 1), None)
        if other is None:
            told.append(f"no longer {' '.join(words)}")
        else:
            added.remove(other)
            told.append(f"{words[0]} {' '.join(words[1:])} → {' '.join(other[1:])}")
    return [*told, *(f"new {' '.join(words)}" for words in added)]


def pieces(words: Sequence[str]) -> tuple[Words, ...]:
    """A command line in pieces: each flag with the values behind it, every other word by itself."""
    found: list[Words] = []
    for word in words:
        if found and found[-1][0].startswith("--") and not word.startswith("-"):
            found[-1] = (*found[-1], word)
        else:
            found.append((word,))
    return tuple(found)


def _split(words: Sequence[str]) -> tuple[Words, tuple[Words, ...]]:
    """What is started with its weights, and the flags that count. Flags before the first `--` are the program's own."""
    first = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    flags = (piece for piece in pieces(words[first:]) if piece[0].partition("=")[0] not in LAUNCH)
    return tuple(words[:first]), tuple(flags)


def _bare(argv: Sequence[str]) -> Sequence[str]:
    """A command line without the interpreter that the kernel puts before a script (execve(2))."""
    script = len(argv) > 1 and argv[1].startswith("/")
    return argv[1:] if script and _INTERPRETER.fullmatch(PurePosixPath(argv[0]).name) else argv


def _after(words: Sequence[str], flag: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words[:-1]) if word == flag]


def _counting(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in env.items() if not VARIABLES.fullmatch(name)))
