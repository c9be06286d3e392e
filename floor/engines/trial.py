"""A fresh process of an engine's build that parses its arguments, looks for its device, and ends: proof of a start.

vLLM 0.32 needs 9 s of one core and 0.6 GiB of memory for it; no weights are read and the card gets no context.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from floor.engines import environment

MARK = "@floor "
MEMORY = 3 << 30  # bytes that it may take; it is not tried where less than that and a bit is free
SECONDS = 180  # that it may take; imports alone take most of a minute on a busy box
PREFIX = "floor-trial-"
_CACHE = "/tmp/floor-trial"  # noqa: S108 -- in the process's own /tmp, gone with it
# The program `vllm` is a script: whatever interprets it has the build's libraries. pip writes a long path in another
# way, behind /bin/sh. Another kind of program (a wrapper) is not tried. No words of a config are in here.
_BY_INTERPRETER = r"""
p=$(command -v -- "$1") || { echo "there is no program $1" >&2; exit 127; }
s=$2; shift 2
{ IFS= read -r l; IFS= read -r m; } < "$p"
case "$l" in
  "#!"*python*) i=${l#"#!"}; exec $i -c "$s" "$@";;
esac
case "$m" in
  "'''exec' "*python*) i=${m#"'''exec' "}; i=${i%%' "$0"'*}; i=${i#\"}; i=${i%\"}; exec "$i" -c "$s" "$@";;
esac
echo '@floor {"unknown": "its program is no script of Python, so its next start was not tried"}'
"""
# vLLM's own main, with the command that would serve replaced: its parser and its checks of what was parsed.
_VLLM = """
import json, os, sys, warnings
try:
    from vllm.entrypoints.cli import serve
    import vllm.entrypoints.cli.main as cli
    command = serve.ServeSubcommand
except (ModuleNotFoundError, AttributeError) as error:
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("vllm.entrypoints.cli"):
        raise
    found = {"unknown": "this release of vLLM has no `vllm serve` that could be tried"}
    print('@floor ' + json.dumps(found), flush=True)
    os._exit(0)
def tried(args):
    from vllm.platforms import current_platform
    found = {"device": current_platform.device_type or "none", "count": None, "needs": 1, "said": ""}
    cards = (args.tensor_parallel_size or 1) * (args.pipeline_parallel_size or 1)
    found["needs"] = max(1, cards // (getattr(args, "nnodes", 1) or 1))
    if found["device"] == "cuda":
        import torch
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found["count"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
        found["said"] = " ".join(str(one.message) for one in caught)[:400]
    print('@floor ' + json.dumps(found), flush=True)
    os._exit(0)
command.cmd = staticmethod(tried)
sys.argv = ["vllm", *sys.argv[1:]]
cli.main()
"""


@dataclass(frozen=True)
class Trial:
    """A command line and its environment; `container` is the name of the container that it runs in, None without one.

    `engine` says how its answer is read.
    """

    engine: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    container: str | None = None


def trial(engine: str, argv: Sequence[str], env: Mapping[str, str], image: str | None, name: str) -> Trial | None:
    """Given an engine's dialect, its launch (argv, environment, image or None) and the name of its model, return the
    process that proves it; None where the engine offers no way."""
    if image is None:
        words = _tried(engine, argv)
        return Trial(engine, tuple(words), {**env, **environment.caches(_CACHE)}) if words else None
    at = len(argv) - 1 - list(reversed(argv)).index("--entrypoint")
    words = _tried(engine, [argv[at + 1], *argv[at + 3 :]])
    if not words:
        return None
    container = f"{PREFIX}{name}"
    return Trial(
        engine,
        (*_boxed(argv[:at], container), "--entrypoint", words[0], argv[at + 2], *words[1:]),
        {},
        container,
    )


def _boxed(options: Sequence[str], container: str) -> list[str]:
    """`docker run` and its options for the trial: under its own name, without a network, bounded in memory and time."""
    words = list(options)
    words[words.index("--name") + 1] = container
    words[words.index("--network") + 1] = "none"
    # The kernel takes it before anything else; other containers get the processors first.
    return [*words, "--memory", str(MEMORY), "--oom-score-adj", "1000", "--cpu-shares", "2"]


def _tried(engine: str, argv: Sequence[str]) -> list[str]:
    if "floor.sim" in argv:
        at = list(argv).index("floor.sim")
        return [*argv[: at + 1], "check", *argv[at + 1 :]]
    if engine == "vllm" and "serve" in argv:
        at = list(argv).index("serve")
        if PurePosixPath(argv[0]).name.startswith("python"):
            return [argv[0], "-c", _VLLM, *argv[at:]]
        return ["/bin/sh", "-c", _BY_INTERPRETER, "sh", argv[0], _VLLM, *argv[at:]]
    if engine == "llamacpp":  # reads its words in order (common/arg.cpp): a wrong one ends it before the last
        return [*argv, "--list-devices"]
    if engine == "ollama":
        return [argv[0], "--version"]
    return []


def verdict(engine: str, answer: Mapping[str, Any], *, gpu: bool) -> tuple[str, str]:
    """Given how a trial ended ({code, out, err, skipped, late}) and whether its engine must have a GPU, return what is
    wrong and what is worth saying; both empty where all is well."""
    if answer.get("skipped"):
        return "", f"its next start was not tried: {answer['skipped']}"
    if answer.get("late"):
        return "", f"its next start was not tried to the end: no answer within {SECONDS} s"
    if answer["code"] != 0:
        return f"it would not start: {_last(answer)}", ""
    found = _marked(str(answer["out"]))
    if engine == "llamacpp" and not found:
        return _devices(str(answer["out"]), gpu=gpu), ""
    if found.get("unknown"):
        return "", str(found["unknown"])
    return _device(found, gpu=gpu), ""


def _device(found: Mapping[str, Any], *, gpu: bool) -> str:
    device, count, needs = found.get("device"), found.get("count"), found.get("needs") or 1
    said = f" ({found['said']})" if found.get("said") else ""
    if device == "none" or count == 0:
        return f"it finds no GPU{said}; was the driver changed? see `nvidia-smi`"
    if gpu and device == "cpu":
        return "it would run on the CPU; this build has no support for the GPU, or does not see it"
    if count is not None and count < needs:
        return f"it finds {count} GPUs and its arguments ask for {needs}"
    return ""


def _devices(out: str, *, gpu: bool) -> str:
    listed = re.findall(r"^\s+\w+[0-9]+: .+$", out, re.MULTILINE)
    return "it finds no GPU, and would run on the CPU without a word" if gpu and not listed else ""


def _marked(out: str) -> dict[str, Any]:
    for line in reversed(out.splitlines()):
        if line.startswith(MARK):
            try:
                return dict(json.loads(line.removeprefix(MARK)))
            except ValueError:
                break
    return {}


def _last(answer: Mapping[str, Any]) -> str:
    """The last thing that it said, which is where programs tell why they end."""
    lines = [line.strip() for line in f"{answer['out']}\n{answer['err']}".splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return (telling or lines or [f"exit {answer['code']}"])[-1][:400]
