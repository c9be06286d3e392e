"""llama.cpp's command line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.engines.known import ENGINES
from floor.engines.llamacpp import arguments, environment, flag
from floor.engines.serve import Serve

PLAIN = Serve("/models/flagship.gguf", "flagship", "192.0.2.11", 8000)
FULL = replace(PLAIN, context=32768, max_requests=4, kv_cache="q8_0", args={"threads": 8, "flash-attn": "on"})


def test_a_whole_command_line() -> None:
    assert " ".join(arguments(FULL)) == (
        "--model /models/flagship.gguf --alias flagship --host 192.0.2.11 --port 8000 --ctx-size 131072 --parallel 4 "
        "--cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on --jinja --metrics --n-gpu-layers 999 --threads 8"
    )


def test_what_nobody_said_is_left_to_the_engine() -> None:
    words = arguments(PLAIN)
    assert not {"--ctx-size", "--parallel", "--cache-type-k", "--cache-type-v"} & set(words)
    assert {"--metrics", "--jinja"} <= set(words)


@given(st.integers(1, 10**6), st.integers(1, 100))
def test_each_request_gets_its_whole_context(context: int, requests: int) -> None:
    """The server gives each of its slots an equal part of --ctx-size."""
    words = arguments(replace(PLAIN, context=context, max_requests=requests))
    assert int(words[words.index("--ctx-size") + 1]) // int(words[words.index("--parallel") + 1]) == context


def test_a_context_without_a_number_of_requests_is_one_for_all() -> None:
    words = arguments(replace(PLAIN, context=4096))
    assert words[words.index("--ctx-size") + 1] == "4096"
    assert "--parallel" not in words


def test_embeddings_are_read_in_one_piece() -> None:
    words = arguments(replace(PLAIN, context=2048, max_requests=2, task="embed"))
    assert "--embeddings" in words
    assert [words[words.index(name) + 1] for name in ("--batch-size", "--ubatch-size")] == ["2048", "2048"]
    assert "--batch-size" not in arguments(replace(PLAIN, task="embed"))


def test_the_files_flags_win_over_defaults() -> None:
    words = arguments(replace(PLAIN, args={"jinja": False, "n-gpu-layers": 20}))
    assert "--no-jinja" in words
    assert words[words.index("--n-gpu-layers") + 1] == "20"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, ["--x"]),
        (False, ["--no-x"]),
        (-1, ["--x", "-1"]),
        ("-a", ["--x", "-a"]),
        ([3, 1], ["--x", "3,1"]),
        ({"a": 1}, ["--x", '{"a":1}']),
    ],
)
def test_flags(value: object, words: list[str]) -> None:
    assert flag("x", value) == words


def test_a_list_of_nothing_is_no_flag() -> None:
    with pytest.raises(ValueError, match=r"^--lora: a list needs values, found \[\]$"):
        flag("lora", [])


def test_nothing_is_fetched_and_caches_stay() -> None:
    env = environment("/var/cache/floor/flagship")
    assert env["LLAMA_ARG_OFFLINE"] == "1"
    assert env["LLAMA_CACHE"] == "/var/cache/floor/flagship"


def test_it_cannot_finish_what_it_has_and_takes_its_key_from_a_variable() -> None:
    engine = ENGINES["llamacpp"]
    assert (engine.drains, engine.key) == (False, "LLAMA_API_KEY")
    assert engine.folder("/models/a/b-00001-of-00002.gguf") == "/models/a"
