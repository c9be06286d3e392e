from __future__ import annotations

import re

import pytest

from floor.engines import dialect, environment, llamacpp, ollama
from floor.engines.known import ENGINES
from floor.engines.serve import Serve

OLLAMA = Serve("/models/ollama", "small", "192.0.2.11", 8000, start=60)


def test_nothing_is_fetched_while_serving() -> None:
    env = environment.vllm("/c")
    assert (env["HF_HUB_OFFLINE"], env["TRANSFORMERS_OFFLINE"], env["VLLM_NO_USAGE_STATS"]) == ("1", "1", "1")
    assert llamacpp.environment("/c")["LLAMA_ARG_OFFLINE"] == "1"
    assert ollama.environment(OLLAMA, "/c")["OLLAMA_NO_CLOUD"] == "1"


def test_every_cache_lies_in_the_folder_that_stays() -> None:
    folder = "/var/cache/floor/flagship"
    caches = environment.caches(folder)
    assert len(caches) == 5
    assert all(value == folder or value.startswith(f"{folder}/") for value in caches.values())
    assert caches.items() <= environment.vllm(folder).items()


def test_an_engine_finds_the_tools_beside_it() -> None:
    path = environment.native("/opt/vllm/bin/vllm", environment.vllm("/c"), {})["PATH"].split(":")
    assert path[0] == "/opt/vllm/bin"
    assert {"/usr/bin", "/usr/local/cuda/bin"} <= set(path)
    assert not [engine for engine in ENGINES.values() if "PATH" in engine.environment(OLLAMA, "/c")]


def test_the_files_own_variables_win() -> None:
    own = {"HF_HUB_OFFLINE": "0", "PATH": "/x", "NCCL_DEBUG": "INFO"}
    assert own.items() <= environment.native("/opt/vllm/bin/vllm", environment.vllm("/c"), own).items()


def test_no_secret_has_a_place_there() -> None:
    names = [name for engine in ENGINES.values() for name in engine.environment(OLLAMA, "/c")]
    assert not [name for name in names if re.search("KEY|TOKEN|SECRET", name)]


def test_ollama_sees_no_foreign_origin() -> None:
    assert dialect.headers("ollama") == dialect.Headers("localhost", ("Origin",))
    assert dialect.headers("vllm").drop == dialect.headers("llamacpp").drop == ()


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(ValueError, match="no such dialect: 'sglang'; known are vllm, llamacpp, ollama"):
        dialect.headers("sglang")
