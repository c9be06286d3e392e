"""Engines that run already become a floor.yaml that holds what they were started with, and says what it cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from floor.config.adopt.found import engines
from floor.config.adopt.write import Adopted, Look, write
from floor.config.load import parse
from floor.config.model import Config

DIGEST = f"registry.example/vllm@sha256:{'a' * 64}"
OFFICIAL = ["vllm", "serve", "/models/flagship", "--served-model-name", "flagship"]


def process(argv: Sequence[str], at: int, **more: Any) -> dict[str, Any]:
    """A process as `floor.box.foreign.procs` tells of it."""
    told = {
        "pid": 41, "parent": 1, "argv": list(argv), "engine": "vllm", "at": at, "hidden": [], "user": "alice",
        "folder": "/", "env": {}, "env_hidden": [], "owner": {"kind": "session", "name": "session-3"},
        "ports": [[8000, "0.0.0.0"]], "gpu": True, "memory": 1, "snapshots": {},
    }  # fmt: skip
    return {**told, **more}


def container(argv: Sequence[str], at: int, **more: Any) -> dict[str, Any]:
    """A container as `floor.box.foreign.boxed` tells of it."""
    told = {
        "name": "vllm-main", "image": "registry.example/vllm:v0.11.0", "digest": DIGEST, "argv": list(argv),
        "engine": "vllm", "at": at, "hidden": [], "env": {}, "env_hidden": [], "mounts": [], "network": "host",
        "ports": {}, "gpus": "all", "options": [], "policy": "unless-stopped", "auto_remove": False, "running": True,
        "pid": 41, "user": "", "snapshots": {},
    }  # fmt: skip
    return {**told, **more}


def box(
    name: str, *, processes: Sequence[Any] = (), containers: Sequence[Any] = (), address: str = "192.0.2.11"
) -> Look:
    """A machine as it was seen."""
    told = {
        "root": True, "hostname": name, "machine": "aarch64", "addresses": [address], "memory": {},
        "processes": list(processes), "containers": list(containers), "units": [], "cron": [],
    }  # fmt: skip
    return Look(f"ops@{name}", told)


def read(adopted: Adopted) -> Config:
    return parse(adopted.text)


def test_a_secret_of_any_flag_is_told_and_not_written_as_a_value() -> None:
    argv, flag = [*OFFICIAL, "--hf_token", "(left out)", "--max-num-batched-tokens", "8192"], "--hf_token"
    found = write([box("spark-a", containers=[container(argv, 2, hidden=[flag])])])
    assert read(found).models["flagship"].args == {"max-num-batched-tokens": 8192}
    assert any(f"{flag} is a secret" in line for line in found.lost)


def test_a_share_that_is_no_number_is_left_to_the_check() -> None:
    argv = [*OFFICIAL, "--gpu-memory-utilization", "most"]
    assert "utilization: most" in write([box("spark-a", containers=[container(argv, 2)])]).text


def test_a_container_of_the_official_image_is_taken_over_as_it_is() -> None:
    argv = [
        *OFFICIAL,
        "--max-model-len",
        "32k",
        "--gpu-memory-utilization=0.8",
        "--max-num-seqs",
        "12",
        "--port",
        "8001",
    ]
    argv += ["--enable-prefix-caching", "--no-enable-log-requests", "-tp", "2", "-pp", "2"]
    argv += ["--speculative-config", '{"method":"mtp","num_speculative_tokens":4}', "--max-num-batched-tokens", "8192"]
    mounts = [
        {"from": "/models/flagship", "to": "/models/flagship", "write": False, "name": None},
        {"from": "/srv/templates", "to": "/templates", "write": False, "name": None},
    ]
    found = write([box("spark-a", containers=[container(argv, 2, mounts=mounts, options=["--device=/dev/x:/dev/x"])])])
    model = read(found).models["flagship"]
    assert (model.source, model.context, model.utilization, model.max_requests) == ("/models/flagship", 32000, 0.8, 12)
    assert model.port == 8001
    assert model.args == {
        "enable-prefix-caching": True,
        "enable-log-requests": False,
        "tensor-parallel-size": 2,
        "pipeline-parallel-size": 2,
        "speculative-config": {"method": "mtp", "num_speculative_tokens": 4},
        "max-num-batched-tokens": 8192,
    }
    assert model.runtime is not None
    assert (model.runtime.image, model.runtime.gpus, model.runtime.entrypoint) == (DIGEST, "all", None)
    assert model.runtime.volumes == ["/srv/templates:/templates:ro"]
    assert model.runtime.options == ["--device=/dev/x:/dev/x"]
    assert "docker inspect vllm-main" in found.text
    assert found.lost == ()


def test_the_engines_own_cap_stays_its_own() -> None:
    assert read(write([box("a", containers=[container(OFFICIAL, 2)])])).models["flagship"].max_requests is None


def test_a_hand_written_unit_becomes_a_native_copy_with_its_user() -> None:
    argv = ["/opt/vllm/bin/python3", "/opt/vllm/bin/vllm", "serve", "/models/flagship"]
    owner = {"kind": "unit", "name": "vllm.service"}
    found = write([box("spark-a", processes=[process(argv, 3, owner=owner, env={"VLLM_LOGGING_LEVEL": "DEBUG"})])])
    model = read(found).models["flagship"]
    assert model.runtime is not None
    assert (model.runtime.kind, model.runtime.command, model.runtime.user) == (
        "native",
        ["/opt/vllm/bin/vllm"],
        "alice",
    )
    assert model.env == {"VLLM_LOGGING_LEVEL": "DEBUG"}
    assert "spark-a: unit vllm.service; see `systemctl cat vllm.service`" in found.text
    assert "it is served as /models/flagship, here as flagship" in found.lost[0]


def test_replicas_are_one_model_and_what_differs_stands_with_its_copy() -> None:
    def one(share: str, *flags: str) -> dict[str, Any]:
        return container([*OFFICIAL, "--gpu-memory-utilization", share, "--enforce-eager", *flags], 2)

    looks = [
        box("spark-a", containers=[one("0.8")]),
        box("spark-b", containers=[one("0.74", "--seed", "7")], address="192.0.2.12"),
    ]
    config = read(write(looks))
    assert list(config.models) == ["flagship"]
    first, second = config.copies("flagship")
    assert (first.utilization, first.args) == (0.8, {"enforce-eager": True})
    assert (second.utilization, second.args) == (0.74, {"enforce-eager": True, "seed": 7})
    assert config.models["flagship"].args == {"enforce-eager": True}
    assert config.proxy.boxes == ["spark-a", "spark-b"]
    assert config.destination("spark-b") == "ops@spark-b"


def test_secrets_are_named_and_not_written() -> None:
    one = container([*OFFICIAL, "--api-key", "(left out)"], 2, hidden=["--api-key"], env_hidden=["HF_TOKEN"])
    found = write([box("a", containers=[one])])
    assert [line.partition(" is a secret")[0].rpartition(" ")[2] for line in found.lost] == ["--api-key", "HF_TOKEN"]
    assert "left out)" not in found.text.partition("boxes:")[2]
    read(found)


def test_a_published_port_is_the_port_and_a_shell_in_front_is_looked_through() -> None:
    inside = process(
        ["/usr/bin/python3", "/usr/local/bin/vllm", *OFFICIAL[1:]], 3, owner={"kind": "container", "name": "vllm-main"}
    )
    boxed = container(["bash", "-c", "vllm serve …"], 0, engine=None, network="bridge", ports={"8000": 8123})
    model = read(write([box("a", processes=[inside], containers=[boxed])])).models["flagship"]
    assert model.port == 8123
    assert model.runtime is not None
    assert (model.runtime.kind, model.runtime.entrypoint) == ("docker", ["/usr/local/bin/vllm"])


def test_the_proxies_get_a_port_that_nobody_has() -> None:
    nginx = process(["nginx: master"], 0, engine=None, ports=[[8080, "0.0.0.0"]])
    config = read(write([box("a", processes=[nginx], containers=[container(OFFICIAL, 2)])]))
    assert config.listen("flagship") == 8081


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"argv": ["vllm", "serve", "org/name"], "at": 2}, "its weights are named org/name: write the folder"),
        ({"argv": [*OFFICIAL, "--served-model-name", "flagship", "small"], "at": 2}, "it is also served as small"),
        ({"argv": [*OFFICIAL, "--root-path", "/x"], "at": 2}, "--root-path /x cannot be given here: nothing here"),
        ({"argv": [*OFFICIAL, "-q", "fp8", "-Z"], "at": 2}, "-Z: write its long name into args"),
        ({"argv": OFFICIAL, "at": 2, "network": "mine"}, "its network mine: floor gives engines the box's own network"),
        (
            {"argv": OFFICIAL, "at": 2, "mounts": [{"from": "/v", "to": "/w", "write": True, "name": "v"}]},
            "docker's volume v",
        ),
        ({"argv": OFFICIAL, "at": 2, "env": {"FLOOR_SIM_SEED": "1"}}, "variables with FLOOR_ are floor's own"),
    ],
)
def test_what_cannot_be_expressed_is_said(more: dict[str, Any], said: str) -> None:
    found = write([box("a", containers=[container(**more)])])
    assert any(said in line for line in found.lost), found.lost
    assert said in found.text


def test_a_model_by_its_repository_is_found_in_the_cache() -> None:
    place = "/home/alice/.cache/huggingface/hub/models--org--name/snapshots/" + "b" * 40
    one = process(["/opt/vllm/bin/vllm", "serve", "org/name"], 2, snapshots={"org/name": place})
    assert read(write([box("a", processes=[one])])).models["name"].source == place


def test_a_second_copy_on_one_box_gets_a_name_of_its_own() -> None:
    half = [*OFFICIAL, "--gpu-memory-utilization", "0.4"]
    second = container([*half, "--port", "8001"], 2, name="vllm-two")
    found = write([box("a", containers=[container(half, 2), second])])
    assert list(read(found).models) == ["flagship", "flagship-2"]
    assert any("a box holds one copy of a model: this one is called flagship-2" in line for line in found.lost)
    assert [read(found).listen(model) for model in ("flagship", "flagship-2")] == [8080, 8081]


def test_llama_cpp_shares_its_context_between_its_slots() -> None:
    argv = ["/opt/llama.cpp/llama-server", "-m", "/models/small.gguf", "-c", "32768", "-np", "4", "-ngl", "99"]
    text = write([box("a", processes=[process(argv, 1, engine="llamacpp", ports=[[8080, "::"]])])]).text
    for line in (
        "engine: llamacpp",
        "source: /models/small.gguf",
        "context: 8192",
        "max_requests: 4",
        "n-gpu-layers: 99",
    ):
        assert line in text
    assert "small:" in text


def test_ollama_is_told_by_its_environment() -> None:
    env = {"OLLAMA_MODELS": "/srv/ollama", "OLLAMA_HOST": "0.0.0.0:11500", "OLLAMA_NUM_PARALLEL": "2"}
    one = process(["/usr/local/bin/ollama", "serve"], 2, engine="ollama", env=env)
    text = write([box("a", processes=[one])]).text
    for line in ("engine: ollama", "source: /srv/ollama", "port: 11500", "max_requests: 2"):
        assert line in text


def test_floors_own_copies_are_left_alone() -> None:
    own = process(["/opt/vllm/bin/vllm", "serve", "/m"], 2, owner={"kind": "unit", "name": "floor-copy-x.service"})
    boxed = container(OFFICIAL, 2, name="floor-copy-x")
    inside = process(OFFICIAL, 2, owner={"kind": "container", "name": "floor-copy-x"})
    assert write([box("a", processes=[own, inside], containers=[boxed])]).engines == 0


def test_llama_cpp_is_read_from_its_variables_where_no_flag_says_otherwise() -> None:
    env = {
        "LLAMA_ARG_MODEL": "/m/small.gguf", "LLAMA_ARG_ALIAS": "small", "LLAMA_ARG_CTX_SIZE": "8192",
        "LLAMA_ARG_N_PARALLEL": "2", "LLAMA_ARG_PORT": "9000", "LLAMA_ARG_HOST": "0.0.0.0",
        "LLAMA_ARG_FLASH_ATTN": "1", "LLAMA_ARG_N_GPU_LAYERS": "99",
    }  # fmt: skip
    found = write([box("a", processes=[process(["/l/llama-server", "--port", "9001"], 1, engine="llamacpp", env=env)])])
    (copy,) = read(found).copies("small")
    assert (copy.source, copy.port, copy.context, copy.max_requests) == ("/m/small.gguf", 9001, 4096, 2)
    assert copy.args == {"n-gpu-layers": 99}
    (line,) = (line for line in found.lost if "LLAMA_ARG" in line)
    assert line.endswith("LLAMA_ARG_FLASH_ATTN=1: write it as the flag into args")


def test_the_cache_type_of_ollama_is_kept() -> None:
    env = {"OLLAMA_MODELS": "/srv/ollama", "OLLAMA_KV_CACHE_TYPE": "q8_0"}
    found = write([box("a", processes=[process(["/usr/bin/ollama", "serve"], 2, engine="ollama", env=env)])])
    assert "kv_cache: q8_0" in found.text


def test_who_publishes_a_port_on_one_address_is_heard_there_alone() -> None:
    inside = process(OFFICIAL, 2, ports=[], owner={"kind": "container", "name": "vllm-main"})
    boxed = container(OFFICIAL, 2, network="bridge", ports={"8000": 8123}, listens=[[8123, "127.0.0.1"]])
    (found,) = engines("a", box("a", processes=[inside], containers=[boxed]).told)
    assert found.listens == ((8123, "127.0.0.1"),)
