"""A first floor.yaml: filled in from what a machine shows, complete, and good whatever was found."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.config import example, init, parse, shape
from floor.config.init import Gpu, Machine, propose
from floor.config.load import examine
from floor.config.model import Config, ResolvedCopy

GIB = 2**30
DIGEST = f"registry.example/vllm@sha256:{'a' * 64}"
GB10 = Machine(
    hostname="Spark_A.lan",
    arch="aarch64",
    addresses=("192.0.2.11", "fd00::11"),
    memory_total=int(121.7 * GIB),
    memory_available=int(99.7 * GIB),
    gpus=(Gpu("NVIDIA GB10"),),
    images=(DIGEST, "registry.example/vllm:v0.11.0"),
    programs=("/opt/vllm/bin/vllm",),
    models=("/models/Flagship_NVFP4", "/models/second"),
)
BARE = Machine("localhost")


def _copy(facts: Machine) -> ResolvedCopy:
    config, _ = examine(propose(facts), "floor.yaml")
    [model] = config.models
    [copy] = config.copies(model)
    return copy


def _config(facts: Machine) -> Config:
    return parse(propose(facts))


def test_a_gb10_is_known_by_its_shared_memory() -> None:
    copy = _copy(GB10)
    assert copy.backend == "flagship-nvfp4@spark-a"
    assert copy.source == "/models/Flagship_NVFP4"
    assert copy.utilization == 0.75  # (99.7 - 8) / 121.7: what else runs there stays
    assert copy.runtime is not None
    assert (copy.runtime.kind, copy.runtime.image, copy.runtime.gpus) == ("docker", DIGEST, "all")
    assert copy.runtime.options == ["--ulimit=stack=67108864"]
    box = _config(GB10).boxes["spark-a"]
    assert (box.host, box.ssh) == ("192.0.2.11", "local")


def test_what_was_found_is_told_at_the_top() -> None:
    head = propose(GB10).partition("boxes:")[0]
    assert "#   memory: 121.7 GiB, 99.7 GiB available, shared with the GPU\n" in head
    assert "#   GPUs: NVIDIA GB10\n" in head
    assert "#   models: /models/Flagship_NVFP4, /models/second\n" in head


def test_a_card_with_memory_of_its_own() -> None:
    facts = replace(GB10, gpus=(Gpu("NVIDIA L40S", 48 * GIB),), arch="x86_64")
    copy = _copy(facts)
    assert copy.utilization == 0.85
    assert copy.runtime is not None
    assert copy.runtime.options == []
    assert "NVIDIA L40S (48.0 GiB)" in propose(facts)


def test_a_program_is_used_where_there_is_no_image() -> None:
    copy = _copy(replace(GB10, images=()))
    assert copy.runtime is not None
    assert (copy.runtime.kind, copy.runtime.command) == ("native", ["/opt/vllm/bin/vllm"])
    assert "docker:" not in propose(replace(GB10, images=())).partition("proxy:")[0]


def test_a_machine_that_shows_nothing_still_has_a_file() -> None:
    text = propose(BARE)
    _, warnings = examine(text, "floor.yaml")
    assert warnings == ()
    copy = _copy(BARE)
    assert (copy.source, copy.utilization, copy.env) == ("/models/flagship", None, {"VLLM_CPU_KVCACHE_SPACE": "4"})
    assert copy.runtime is not None
    assert copy.runtime.gpus is None
    assert _config(BARE).boxes["localhost"].host == "127.0.0.1"
    assert text.count("# none was found here: write yours") == 2


def test_a_second_box_is_there_to_be_filled_in() -> None:
    text = propose(GB10)
    filled = re.sub(r"(?m)^  # (spark-b:|  host:|  ssh:)", r"  \1", text)
    filled = filled.replace("replicas: [spark-a]", "replicas: [spark-a, spark-b]").replace(
        "boxes: [spark-a]", "boxes: [spark-a, spark-b]"
    )
    config = parse(filled)
    assert config.boxes["spark-b"].host == "192.0.2.12"
    assert [copy.box for copy in config.copies("flagship-nvfp4")] == ["spark-a", "spark-b"]


@pytest.mark.parametrize("facts", [GB10, BARE, replace(GB10, images=())], ids=["gb10", "bare", "native"])
def test_every_option_stands_in_it_with_its_comment(facts: Machine) -> None:
    text = propose(facts)
    kind = "native" if facts.programs and not facts.images else "docker"
    for option in example.options():
        inside = option.path[: 3 if option.path[0] in ("boxes", "models") else 2]
        if (
            option.path not in {path for path, _, _ in shape.fields()}
            or option.path != inside
            or option.path[-1] == "*"
        ):
            continue
        assert re.search(rf"(?m)^ *#?{option.path[-1]}:", text), option.path
        for line in option.comment:
            assert f"# {line}" in text, option.path
    other = "user" if kind == "docker" else "image"
    assert not re.search(rf"(?m)^ +#?{other}:", text)


DEFAULTS = (
    "keep_free|status_port|managed|engine|max_requests|kv_cache|port|request_time|start_time|drains|args|max_body|"
    "connect_timeout|interval|stall"
)


@pytest.mark.parametrize("facts", [GB10, BARE, replace(GB10, images=())], ids=["gb10", "bare", "native"])
def test_it_is_good_with_its_defaults_taken_in(facts: Machine) -> None:
    text = re.sub(rf"(?m)^( *)#(?=({DEFAULTS}):)", r"\1", propose(facts))
    assert parse(text) == _config(facts)


@pytest.mark.parametrize(
    ("total", "available", "share"),
    [
        (121.7, 121.0, 0.85),  # an empty box: never above 0.85
        (121.7, 99.7, 0.75),
        (121.7, 12.0, 0.05),  # hardly anything left: the least, and the person decides
        (121.7, None, 0.85),
        (None, 99.7, 0.85),
    ],
)
def test_the_share_leaves_what_else_runs_there(total: float | None, available: float | None, share: float) -> None:
    facts = replace(
        GB10,
        memory_total=None if total is None else int(total * GIB),
        memory_available=None if available is None else int(available * GIB),
    )
    assert init.share(facts) == share


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ("spark-a", "spark-a"), ("Spark_A", "spark-a"), ("Qwen3-30B-A3B-FP8", "qwen3-30b-a3b-fp8"), ("--x--", "x"),
        ("", "box"), ("é", "box"), ("local", "box"), ("a" * 60, "a" * 40), ("a" * 39 + "-b", "a" * 39),
        ("v0.1", "v0.1"), ("..", "box"),
    ],
)  # fmt: skip
def test_a_name_is_made_of_what_was_found(found: str, name: str) -> None:
    assert init.name(found, "box") == name


WORDS = st.text(max_size=12) | st.sampled_from(
    ["/a:b", "~/x", "no", "a\nb: c", "# x", "{", "/models/../x", "192.0.2.1", "::1", "fe80::1%e"]
)
MANY = st.lists(WORDS, max_size=3).map(tuple)
BYTES = st.none() | st.integers(0, 2**50)
MACHINES = st.builds(
    Machine,
    hostname=WORDS,
    arch=WORDS,
    addresses=MANY,
    memory_total=BYTES,
    memory_available=BYTES,
    gpus=st.lists(st.builds(Gpu, WORDS, BYTES), max_size=2).map(tuple),
    images=MANY | st.just((DIGEST,)),
    programs=MANY | st.just(("/opt/vllm/bin/vllm",)),
    models=MANY | st.just(("/models/x y",)),
)


@given(MACHINES)
@settings(max_examples=30, deadline=None)
def test_whatever_is_found_the_file_is_good(facts: Machine) -> None:
    config, _ = examine(propose(facts), "floor.yaml")
    assert len(config.boxes) == len(config.models) == 1
