"""What docker tells of a container, as floor needs it; and where a model's weights lie in Hugging Face's cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from floor.box.command import Result
from floor.box.foreign import boxed, weights

ONE: dict[str, Any] = {
    "Id": "c1", "Name": "/vllm-main", "Image": "sha256:i", "Path": "vllm", "Args": ["serve", "org/name", "--api-key",
    "abc"], "Config": {"Image": "vllm/vllm-openai:v0.11.0", "Env": ["HF_HOME=/hf", "IMAGE=own", "HF_TOKEN=x"], "User":
    "1000"}, "HostConfig": {
        "NetworkMode": "default", "PortBindings": {"8000/tcp": [{"HostIp": "", "HostPort": "8123"}]},
        "DeviceRequests": [{"Count": 0, "DeviceIDs": ["0", "1"]}], "RestartPolicy": {"Name": "unless-stopped"},
        "CapAdd": ["IPC_LOCK"], "Ulimits": [{"Name": "memlock", "Soft": -1, "Hard": -1}], "AutoRemove": False,
    },
    "Mounts": [
        {"Type": "bind", "Source": "/srv/hf", "Destination": "/hf", "RW": True},
        {"Type": "volume", "Name": "v", "Source": "/var/lib/docker/volumes/v/_data", "Destination": "/v", "RW": False},
    ],
    "State": {"Running": True, "Pid": 41},
}  # fmt: skip


def docker(argv: Sequence[str]) -> Result:
    if argv[1] == "ps":
        return Result(0, "c1\n", "")
    if argv[1] == "image":
        return Result(
            0, json.dumps([{"Config": {"Env": ["IMAGE=own"]}, "RepoDigests": ["vllm/vllm-openai@sha256:d"]}]), ""
        )
    return Result(0, json.dumps([ONE]), "")


def test_a_container_as_it_was_started() -> None:
    (one,) = boxed.listed(docker)
    told = boxed.told(one, docker)
    assert (told["name"], told["engine"], told["at"]) == ("vllm-main", "vllm", 2)
    assert told["argv"][-2:] == ["--api-key", "(left out)"]
    assert (told["env"], told["env_hidden"]) == ({"HF_HOME": "/hf"}, ["HF_TOKEN"])
    assert (told["digest"], told["gpus"], told["policy"]) == (
        "vllm/vllm-openai@sha256:d",
        "device=0,1",
        "unless-stopped",
    )
    assert told["ports"] == {"8000": 8123}
    assert told["options"] == ["--cap-add=IPC_LOCK", "--ulimit=memlock=-1:-1"]
    assert [(mount["from"], mount["name"]) for mount in told["mounts"]] == [
        ("/srv/hf", None),
        ("/var/lib/docker/volumes/v/_data", "v"),
    ]


def test_without_docker_there_are_no_containers() -> None:
    assert boxed.listed(lambda _: Result(None, "", "not installed")) == []


def test_weights_by_repository_are_found_where_the_container_sees_them(tmp_path: Path) -> None:
    folder = tmp_path / "srv/hf/hub/models--org--name"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text("a" * 40)
    (folder / "snapshots" / ("a" * 40)).mkdir(parents=True)
    (one,) = boxed.listed(docker)
    told = boxed.told(one, docker)
    assert weights.snapshots(told, tmp_path) == {"org/name": f"/srv/hf/hub/models--org--name/snapshots/{'a' * 40}"}


def test_an_address_that_a_port_is_published_on_alone_is_told() -> None:
    bound = {
        "8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8123"}, {"HostIp": "", "HostPort": "8124"}],
        "9/udp": [{}],
    }
    assert boxed._listens(bound) == [[8123, "127.0.0.1"], [8124, "::"]]
