"""What of a command line is the build of an engine, and what is not."""

from __future__ import annotations

import pytest

from floor.engines.build import Build, build, changes, flag_changes, pieces

VLLM = ("/opt/vllm/bin/vllm", "serve", "/models/a", "--served-model-name", "m", "--port", "8000", "--dtype", "float32")
RUN = (
    *(
        "/usr/bin/docker",
        "run",
        "--rm",
        "--name",
        "floor-copy-m",
        "--gpus",
        "all",
        "--volume",
        "/models/a:/models/a:ro",
    ),
    *("--env", "A=1", "--env", "VLLM_API_KEY", "--entrypoint", "vllm", "registry.example/vllm:v1"),
    *("serve", "/models/a", "--port", "8000", "--quantization", "fp8"),
)


def test_where_it_listens_and_how_much_it_holds_is_no_part_of_it() -> None:
    other = (*VLLM[:6], "9000", *VLLM[7:], "--max-num-seqs", "8", "--gpu-memory-utilization", "0.5", "--headless")
    assert build(VLLM, {}) == build(other, {"HOME": "/root", "XDG_CACHE_HOME": "/c", "NCCL_DEBUG": "INFO"})
    assert build(VLLM, {}) == build(VLLM, {"VLLM_PP_LAYER_PARTITION": "40,24"})  # nor how it is cut
    assert changes(build(VLLM, {}), build(other, {})) == []


LLAMA = ("/opt/llama-server", "--model", "/models/a.gguf", "--jinja", "--n-gpu-layers", "999")
SAME: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (LLAMA, (*LLAMA[:-1], "20", "--tensor-split", "2,1", "--main-gpu", "1", "--threads", "8")),
    (VLLM, (*VLLM, "--max-num-batched-tokens", "4096", "--uvicorn-log-level", "warning", "--disable-log-stats")),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_how_it_is_cut_and_what_it_tells_is_none_either(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert build(one, {}) == build(other, {"OMP_NUM_THREADS": "8", "VLLM_LOGGING_LEVEL": "DEBUG", "HF_HOME": "/x"})


DIFFERENT: list[tuple[tuple[str, ...], dict[str, str], str]] = [
    (("/opt/vllm/bin/vllm", "serve", "/models/b", *VLLM[3:]), {}, "vllm serve /models/a → /opt/vllm/bin/vllm serve"),
    ((*VLLM[:-1], "bfloat16"), {}, "--dtype float32 → bfloat16"),
    ((*VLLM, "--chat-template", "/t"), {}, "new --chat-template /t"),
    (VLLM[:-2], {}, "no longer --dtype float32"),
    (VLLM, {"VLLM_ATTENTION_BACKEND": "X"}, "VLLM_ATTENTION_BACKEND= → X"),
]


@pytest.mark.parametrize(("argv", "env", "told"), DIFFERENT)
def test_weights_arguments_and_variables_are(argv: tuple[str, ...], env: dict[str, str], told: str) -> None:
    one, other = build(VLLM, {}), build(argv, env)
    assert one.digest != other.digest
    assert any(told in words for words in changes(one, other)), changes(one, other)


@pytest.mark.parametrize("python", ["/usr/bin/python3", "/opt/vllm/bin/python3.12"])
def test_the_interpreter_of_a_script_is_no_part_of_it(python: str) -> None:
    assert build((python, *VLLM), {}) == build(VLLM, {})


def test_a_module_keeps_its_interpreter() -> None:
    argv = ("/opt/floor/current/bin/python", "-I", "-m", "floor.sim", "serve", "/srv/tiny", "--sim-seed", "3")
    assert build(argv, {}).program == argv[:6]


def test_of_a_container_what_is_inside_counts() -> None:
    found = build(RUN, {"FLOOR_LAUNCH": "x", "PATH": "/bin"}, "sha256:1")
    assert found == Build(
        "sha256:1",
        ("vllm", "serve", "/models/a"),
        (("--volume", "/models/a:/models/a:ro"), ("--quantization", "fp8")),
        (("A", "1"),),
    )
    assert build(RUN, {}).image == "registry.example/vllm:v1"
    assert changes(found, build(RUN, {}, "sha256:2")) == ["image sha256:1 → sha256:2"]


def test_the_order_of_flags_changes_nothing() -> None:
    argv = (*VLLM[:3], *VLLM[7:], *VLLM[3:7])
    assert build(argv, {}).digest == build(VLLM, {}).digest


def test_pieces_and_what_differs_between_them() -> None:
    old, new = (
        pieces(("serve", "--a", "1", "--b", "--c", "x", "y")),
        pieces(("serve", "--a", "2", "--c", "x", "y", "--d")),
    )
    assert old == (("serve",), ("--a", "1"), ("--b",), ("--c", "x", "y"))
    assert flag_changes(old, new) == ["--a 1 → 2", "no longer --b", "new --d"]
