from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from floor.engines.docker import Container, mounts, remove, run, stop

PLAIN = Container("floor-copy-flagship", "registry.example/vllm:1", ["serve", "/models/flagship"], ["vllm"])


def _flag(words: list[str], name: str) -> list[str]:
    return [after for word, after in pairwise(words) if word == name]


def test_a_container_is_its_units_alone() -> None:
    """No restart policy that races with systemd, no fetching, no log of docker's, the host's network and memory."""
    words = run(PLAIN)
    assert words[:5] == ["/usr/bin/docker", "run", "--rm", "--name", "floor-copy-flagship"]
    assert {"--restart=no", "--pull=never", "--log-driver=none", "--init"} <= set(words)
    assert (_flag(words, "--network"), _flag(words, "--ipc")) == (["host"], ["host"])
    assert not {"-d", "--detach", "-t", "-i", "--gpus", "--ulimit"} & set(words)


def test_the_image_ends_the_options() -> None:
    words = run(replace(PLAIN, options=["--shm-size", "8g"]))
    assert words[-7:] == ["--shm-size", "8g", "--entrypoint", "vllm", PLAIN.image, "serve", "/models/flagship"]


def test_an_entrypoint_of_several_words() -> None:
    words = run(replace(PLAIN, entrypoint=["/opt/python", "-m", "floor.sim"]))
    assert words[-6:] == ["/opt/python", PLAIN.image, "-m", "floor.sim", "serve", "/models/flagship"]


def test_secrets_go_by_name_only() -> None:
    words = run(replace(PLAIN, env={"B": "2 $x", "A": "1"}, secrets=["VLLM_API_KEY"]))
    assert _flag(words, "--env") == ["A=1", "B=2 $x", "VLLM_API_KEY"]


@pytest.mark.parametrize("gpus", ["all", "2", '"device=0,1"'])
def test_gpus(gpus: str) -> None:
    words = run(replace(PLAIN, gpus=gpus))
    assert (_flag(words, "--gpus"), _flag(words, "--ulimit")) == ([gpus], ["memlock=-1"])


@pytest.mark.parametrize(
    ("volumes", "added"),
    [
        ([], True),
        (["/srv:/models"], False),
        (["/srv:/models/"], False),
        (["/srv:/models/flagship:ro"], False),
        (["/:/"], False),
        (["/srv:/model"], True),
        (["/models/flagship:/other"], True),
        (["/srv:/models/flagship/sub"], True),
    ],
)
def test_the_weights_are_mounted_once(volumes: list[str], added: bool) -> None:
    own = ["/models/flagship:/models/flagship:ro"] if added else []
    assert mounts("/models/flagship", volumes) == [*volumes, *own]


def test_stop_and_remove() -> None:
    assert stop("floor-copy-x", 40.2) == ["/usr/bin/docker", "stop", "-t", "41", "floor-copy-x"]
    assert remove("floor-copy-x") == ["/usr/bin/docker", "rm", "-f", "floor-copy-x"]


def test_devices_of_the_box_and_the_memory_that_they_pin() -> None:
    words = run(replace(PLAIN, devices=["/dev/infiniband"]))
    assert (_flag(words, "--device"), _flag(words, "--ulimit")) == (["/dev/infiniband"], ["memlock=-1"])
