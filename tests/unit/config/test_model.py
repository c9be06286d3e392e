"""A copy as it comes out: its own options, the model's below them."""

from __future__ import annotations

from typing import Any

import pytest

from floor.config import parse
from floor.config.model import Config, ResolvedCopy

TEXT = """
boxes:
  spark-a: {host: 192.0.2.11, ssh: ops@spark-a}
  spark-b: {host: 192.0.2.12}
  mac: {host: fd00::20, managed: false}
models:
  flagship:
    source: /models/flagship
    context: 262144
    utilization: 0.8
    args: {enforce-eager: true, max-num-batched-tokens: 8192}
    env: {A: "1", B: "2"}
    runtime: {kind: docker, image: "registry.example/vllm:v1", gpus: none}
    request_time: 10m
    replicas:
      - spark-a
      - box: spark-b
        source: /other/flagship
        context: null
        max_requests: null
        kv_cache: fp8
        utilization: 0.74
        cache_memory: 24GiB
        port: 8010
        weight: 3
        args: {enforce-eager: null, max-num-batched-tokens: 4096, seed: 1}
        env: {B: "3", C: "4"}
        runtime: {kind: native, command: [/opt/floor/current/bin/python, -I, -m, floor.sim]}
      - {box: mac, engine: llamacpp, key: engine}
  other:
    source: /models/other
    utilization: 0.1
    port: 8001
    listen: 8081
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    replicas: [spark-a]
proxy: {boxes: [spark-a]}
"""


@pytest.fixture
def config() -> Config:
    return parse(TEXT)


def _copies(config: Config) -> dict[str, ResolvedCopy]:
    return {copy.box: copy for copy in config.copies("flagship")}


def test_copies_keep_the_order_of_the_file(config: Config) -> None:
    assert [copy.backend for copy in config.copies("flagship")] == [
        "flagship@spark-a",
        "flagship@spark-b",
        "flagship@mac",
    ]


def test_a_bare_name_has_everything_from_the_model(config: Config) -> None:
    copy = _copies(config)["spark-a"]
    assert copy == ResolvedCopy(
        backend="flagship@spark-a", model="flagship", box="spark-a", managed=True, engine="vllm",
        source="/models/flagship", context=262144, max_requests=12, kv_cache="auto", utilization=0.8, cache_memory=None,
        port=8000, weight=1, url=None, runtime=config.models["flagship"].runtime, request_time=600.0, start_time=2400.0,
        key=True, args={"enforce-eager": True, "max-num-batched-tokens": 8192}, env={"A": "1", "B": "2"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("source", "/other/flagship"), ("context", None), ("max_requests", None), ("kv_cache", "fp8"),
        ("utilization", 0.74), ("cache_memory", 24 << 30), ("port", 8010), ("weight", 3), ("request_time", 600.0),
        ("args", {"max-num-batched-tokens": 4096, "seed": 1}), ("env", {"A": "1", "B": "3", "C": "4"}),
    ],
)  # fmt: skip
def test_anything_can_differ_per_copy(config: Config, key: str, value: Any) -> None:
    assert getattr(_copies(config)["spark-b"], key) == value


def test_a_runtime_replaces_the_models_as_a_whole(config: Config) -> None:
    runtime = _copies(config)["spark-b"].runtime
    assert runtime is not None
    assert (runtime.kind, runtime.image, runtime.user) == ("native", "", "floor")
    assert runtime.command == ["/opt/floor/current/bin/python", "-I", "-m", "floor.sim"]


def test_a_command_of_one_word_is_a_list_too(config: Config) -> None:
    [copy] = config.copies("other")
    assert copy.runtime is not None
    assert copy.runtime.command == ["/opt/vllm/bin/vllm"]


def test_no_gpus_is_none(config: Config) -> None:
    runtime = _copies(config)["spark-a"].runtime
    assert runtime is not None
    assert runtime.gpus is None


def test_an_unmanaged_copy_has_a_url_and_no_launch(config: Config) -> None:
    copy = _copies(config)["mac"]
    assert (copy.managed, copy.engine, copy.url, copy.port) == (False, "llamacpp", "http://[fd00::20]:8000", 8000)
    assert copy.runtime is None
    assert copy.key is True


@pytest.mark.parametrize(
    ("copy", "url", "port", "key"),
    [
        ("mac", "http://[fd00::20]:8000", 8000, False),
        ("{box: mac, port: 11434}", "http://[fd00::20]:11434", 11434, False),
        ('{box: mac, url: "http://[fd00::20]:9000/"}', "http://[fd00::20]:9000", 9000, False),
        ('{box: mac, url: "http://[fd00::20]", key: engine}', "http://[fd00::20]", 80, True),
        ("{box: mac, key: none}", "http://[fd00::20]:8000", 8000, False),
    ],
)
def test_where_an_unmanaged_copy_answers(copy: str, url: str, port: int, key: bool) -> None:
    config = parse(TEXT.replace("{box: mac, engine: llamacpp, key: engine}", copy))
    resolved = _copies(config)["mac"]
    assert (resolved.url, resolved.port, resolved.key) == (url, port, key)


def test_the_proxys_port_of_a_model(config: Config) -> None:
    assert (config.listen("flagship"), config.listen("other")) == (8080, 8081)


def test_a_boxs_ssh_destination(config: Config) -> None:
    assert (config.destination("spark-a"), config.destination("spark-b")) == ("ops@spark-a", "spark-b")


def test_an_unknown_model_is_a_key_error(config: Config) -> None:
    with pytest.raises(KeyError):
        config.copies("nobody")


def test_defaults_of_the_sections(config: Config) -> None:
    assert (config.proxy.listen, config.proxy.max_body, config.proxy.connect_timeout) == (8080, 64 << 20, 2.0)
    assert (config.health.interval, config.health.stall, config.health.min_speed) == (0.5, 300.0, None)
    assert (config.boxes["spark-a"].keep_free, config.boxes["spark-a"].status_port) == (8 << 30, 8099)
