"""Ollama's variables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floor.engines.known import ENGINES
from floor.engines.ollama import arguments, environment, manifest
from floor.engines.serve import Serve

PLAIN = Serve("/models/ollama", "small", "192.0.2.11", 8000)
FULL = replace(PLAIN, context=32768, max_requests=4, kv_cache="q8_0", start=2400.5)


def test_all_of_it_is_in_the_environment() -> None:
    assert arguments(FULL) == ["serve"]
    assert environment(FULL, "/c") == {
        "HOME": "/c",
        "OLLAMA_HOST": "192.0.2.11:8000",
        "OLLAMA_MODELS": "/models/ollama",
        "OLLAMA_KEEP_ALIVE": "-1",
        "OLLAMA_MAX_LOADED_MODELS": "1",
        "OLLAMA_NOPRUNE": "1",
        "OLLAMA_NO_CLOUD": "1",
        "OLLAMA_LOAD_TIMEOUT": "2401s",
        "OLLAMA_CONTEXT_LENGTH": "32768",
        "OLLAMA_NUM_PARALLEL": "4",
        "OLLAMA_KV_CACHE_TYPE": "q8_0",
        "OLLAMA_FLASH_ATTENTION": "1",
        "CUDA_CACHE_PATH": "/c/cuda",
    }


def test_what_nobody_said_is_left_to_the_engine() -> None:
    left = {"OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL", "OLLAMA_KV_CACHE_TYPE", "OLLAMA_LOAD_TIMEOUT"}
    assert not left & set(environment(PLAIN, "/c"))


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    assert environment(replace(PLAIN, host="fd00::2"), "/c")["OLLAMA_HOST"] == "[fd00::2]:8000"


def test_a_flag_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^--num-ctx: Ollama takes no flags, only variables \(env\)$"):
        arguments(replace(PLAIN, args={"num-ctx": 4096}))


def test_a_model_is_told_by_its_manifest() -> None:
    assert manifest("/models/ollama/", "small") == "/models/ollama/manifests/registry.ollama.ai/library/small/latest"


def test_it_asks_nobody_for_a_key() -> None:
    assert (ENGINES["ollama"].key, ENGINES["ollama"].drains) == (None, False)
