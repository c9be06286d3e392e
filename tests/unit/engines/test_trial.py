"""A start is tried by a process of the same build with the same words, and its answer read without guessing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from floor.engines import docker
from floor.engines.trial import MEMORY, trial, verdict

VLLM = ("/opt/vllm/bin/vllm", "serve", "/models/x", "--port", "8000")


def ended(code: int = 0, out: str = "", err: str = "", **more: Any) -> dict[str, Any]:
    return {"code": code, "out": out, "err": err, "skipped": "", "late": False, **more}


def test_vllm_is_asked_by_the_interpreter_of_its_program() -> None:
    found = trial("vllm", VLLM, {"PATH": "/p", "XDG_CACHE_HOME": "/var/cache/floor/x"}, None, "x")
    assert found is not None
    assert found.argv[:2] == ("/bin/sh", "-c")
    assert found.argv[4] == "/opt/vllm/bin/vllm"
    assert "cli.main()" in found.argv[5]
    compile(found.argv[5], "script", "exec")
    assert found.argv[6:] == VLLM[1:]
    assert found.env["PATH"] == "/p"
    assert found.env["XDG_CACHE_HOME"] == "/tmp/floor-trial"
    assert found.container is None


def test_a_python_is_asked_itself() -> None:
    found = trial("vllm", ("/v/bin/python", "-m", "vllm.entrypoints.cli.main", *VLLM[1:]), {}, None, "x")
    assert found is not None
    assert (found.argv[0], found.argv[1], found.argv[3:]) == ("/v/bin/python", "-c", VLLM[1:])


def test_in_docker_the_same_container_is_bounded_and_has_a_name_of_its_own() -> None:
    one = docker.Container(
        name="floor-copy-x",
        image="vllm:1",
        words=list(VLLM[1:]),
        entrypoint=("vllm",),
        gpus="all",
        volumes=["/a:/a:ro"],
    )
    found = trial("vllm", docker.run(one), {}, "vllm:1", "x")
    assert found is not None
    words = list(found.argv)
    assert words[:5] == ["/usr/bin/docker", "run", "--rm", "--name", "floor-trial-x"]
    assert words[words.index("--network") + 1] == "none"
    assert words[words.index("--memory") + 1] == str(MEMORY)
    assert words[words.index("--gpus") + 1] == "all"
    at = words.index("--entrypoint")
    assert words[at + 1 : at + 4] == ["/bin/sh", "vllm:1", "-c"]
    assert words[at + 6] == "vllm"
    assert tuple(words[at + 8 :]) == VLLM[1:]
    assert found.container == "floor-trial-x"


@pytest.mark.parametrize(
    ("engine", "argv", "tried"),
    [
        (
            "llamacpp",
            ["/l/llama-server", "--model", "/m.gguf"],
            ("/l/llama-server", "--model", "/m.gguf", "--list-devices"),
        ),
        ("ollama", ["/usr/bin/ollama", "serve"], ("/usr/bin/ollama", "--version")),
        (
            "vllm",
            ["/p", "-I", "-m", "floor.sim", "serve", "x", "--port", "1"],
            ("/p", "-I", "-m", "floor.sim", "check", "serve", "x", "--port", "1"),
        ),
    ],
)
def test_other_engines_are_asked_in_their_own_way(engine: str, argv: list[str], tried: tuple[str, ...]) -> None:
    found = trial(engine, argv, {}, None, "x")
    assert found is not None
    assert found.argv == tried


def test_an_engine_that_offers_no_way_is_not_tried() -> None:
    assert trial("vllm", ["/opt/my-own-server", "--x"], {}, None, "x") is None


@pytest.mark.parametrize(
    ("engine", "answer", "gpu", "wrong"),
    [
        ("vllm", ended(out='@floor {"device": "cuda", "count": 2, "needs": 2}'), True, ""),
        ("vllm", ended(out='@floor {"device": "cpu", "count": null, "needs": 1}'), False, ""),
        ("vllm", ended(2, err="usage: vllm\nvllm: error: unrecognized arguments: --nope\n"), True,
         "it would not start: vllm: error: unrecognized arguments: --nope"),
        ("vllm", ended(out='noise\n@floor {"device": "cuda", "count": 0, "said": "driver too old"}'), True,
         "it finds no GPU (driver too old); was the driver changed? see `nvidia-smi`"),
        ("vllm", ended(out='@floor {"device": "none", "count": null}'), True,
         "it finds no GPU; was the driver changed? see `nvidia-smi`"),
        ("vllm", ended(out='@floor {"device": "cpu", "count": null}'), True,
         "it would run on the CPU; this build has no support for the GPU, or does not see it"),
        ("vllm", ended(out='@floor {"device": "cuda", "count": 1, "needs": 2}'), True,
         "it finds 1 GPUs and its arguments ask for 2"),
        ("llamacpp", ended(out="Available devices:\n  CUDA0: NVIDIA GB10 (1 MiB, 1 MiB free)\n"), True, ""),
        ("llamacpp", ended(out="Available devices:\n  (none)\n"), True,
         "it finds no GPU, and would run on the CPU without a word"),
        ("llamacpp", ended(out="Available devices:\n"), False, ""),
        ("llamacpp", ended(1, err="error: invalid argument: --nope"), False,
         "it would not start: error: invalid argument: --nope"),
        ("ollama", ended(out="Warning: could not connect\nollama version is 0.12"), True, ""),
        ("vllm", ended(137), True, "it would not start: exit 137"),
    ],
)  # fmt: skip
def test_what_a_trial_means(engine: str, answer: dict[str, Any], gpu: bool, wrong: str) -> None:
    assert verdict(engine, answer, gpu=gpu) == (wrong, "")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            ended(skipped="only 1.0 GiB of memory are free"),
            "its next start was not tried: only 1.0 GiB of memory are free",
        ),
        (ended(late=True), "its next start was not tried to the end: no answer within 180 s"),
        (ended(out='@floor {"unknown": "this release cannot"}'), "this release cannot"),
    ],
)
def test_what_could_not_be_tried_is_no_fault(answer: dict[str, Any], said: str) -> None:
    assert verdict("vllm", answer, gpu=True) == ("", said)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("#!{python}\nimport re\n", "['serve', '/models/x', '--port', '8000']"),
        ("#!/usr/bin/env -S {python} -I\nimport re\n", "['serve', '/models/x', '--port', '8000']"),
        ("#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n", "['serve', '/models/x', '--port', '8000']"),
        ('#!/bin/bash\nexec /opt/vllm/bin/vllm "$@"\n', "its program is no script of Python"),
    ],
)
def test_whatever_interprets_the_program_is_found(tmp_path: Path, program: str, said: str) -> None:
    place = tmp_path / "vllm"
    place.write_text(program.replace("{python}", sys.executable))
    place.chmod(0o755)
    found = trial("vllm", (str(place), *VLLM[1:]), {}, None, "x")
    assert found is not None
    argv = [*found.argv[:5], "import sys; print(sys.argv[1:])", *found.argv[6:]]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert said in done.stdout
