"""An unknown key is answered with the key that was meant."""

from __future__ import annotations

import pytest

from floor.config import explain, flags, shape

MODEL = ("models", "flagship")


@pytest.mark.parametrize(
    ("path", "key", "write"),
    [
        (("boxes", "a"), "hots", "host"),
        (("boxes", "a"), "address", "host"),
        (("boxes", "a"), "ip", "host"),
        (("boxes", "a"), "keep-free", "keep_free"),
        (("boxes", "a"), "Host", "host"),
        (("boxes", "a", "fabric"), "adress", "address"),
        (MODEL, "copies", "replicas"),
        (MODEL, "max_model_len", "context"),
        (MODEL, "max-num-seqs", "max_requests"),
        (MODEL, "--gpu-memory-utilization", "utilization"),
        (MODEL, "kv_cache_dtype", "kv_cache"),
        (MODEL, "kv_cache_memory_bytes", "cache_memory"),
        (MODEL, "image", "runtime.image"),
        (MODEL, "environment", "env"),
        (MODEL, "pipeline_parallel_layer_partition", "split.pipeline"),
        ((*MODEL, "split"), "tensor_parallel_size", "tensor_parallel"),
        ((*MODEL, "split"), "pipelines", "pipeline"),
        (
            ("proxy",),
            "bodysize",
            "one of boxes, listen, address, max_body, connect_timeout, direct, allow, clients, tls",
        ),
        ((), "box", "boxes"),
        ((), "server", "boxes"),
    ],
)
def test_the_nearest_key_is_suggested(path: tuple[str, ...], key: str, write: str) -> None:
    assert explain.instead_of(key, shape.keys(path)) == write


@pytest.mark.parametrize(
    "free",
    [
        "tensor-parallel-size", "dtype", "tokenizer", "seed", "max-num-batched-tokens", "kv-transfer-config",
        "quantization", "model-impl", "config-format", "hf-overrides.rope_scaling", "no-enable-prefix-caching",
        "port-x", "api-server-count",
    ],
)  # fmt: skip
def test_flags_that_are_nobodys_are_free(free: str) -> None:
    assert flags.taken(free) is None


@pytest.mark.parametrize("flag", [*flags.OWN, *flags.TAKEN])
def test_flags_of_floor_are_taken_in_every_spelling(flag: str) -> None:
    for spelling in (
        flag,
        flag.upper(),
        flag.replace("-", "_"),
        f"no-{flag}",
        flag[: max(3, len(flag) - 2)],
        f"{flag}.x",
        f"{flag}+",
    ):
        assert flags.taken(spelling), spelling


def test_every_flag_of_floor_names_a_key_that_exists() -> None:
    for key in flags.OWN.values():
        first, _, second = key.partition(".")
        assert first in shape.keys(MODEL)
        assert not second or second in shape.keys((*MODEL, first))


@pytest.mark.parametrize("flag", ["tp", "O", "q", "r"])
def test_short_flags_are_asked_for_by_their_long_name(flag: str) -> None:
    assert flags.taken(flag) == "the long name of the flag"


@pytest.mark.parametrize("path", [("nowhere",), ("boxes", "a", "host", "x"), ("models", "m", "args", "x", "y")])
def test_where_the_model_holds_nothing_there_are_no_keys(path: tuple[str, ...]) -> None:
    assert shape.keys(path) == []
    assert shape.write(path) == "a value of another kind"
