"""What docker says, in the words that docker 20.10 to 28 really prints."""

from __future__ import annotations

import json

import pytest

from floor.box import containers
from floor.box.command import Result
from floor.errors import FloorError

from .conftest import Programs

SEEN = {
    "Id": "c1d2",
    "Name": "/floor-copy-flagship",
    "Image": "sha256:aaaa",
    "Config": {"Image": "registry.example/vllm@sha256:bbbb"},
    "State": {"Running": True, "Pid": 4242},
}
DOWN = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"


def test_a_unit_and_its_container_have_one_name() -> None:
    assert containers.of_unit("floor-copy-flagship.service") == "floor-copy-flagship"


def test_a_container_is_told_with_its_image_and_pid(programs: Programs) -> None:
    programs.on("docker", "container", "inspect", out=json.dumps([SEEN]))
    assert containers.inspect(["floor-copy-flagship"], programs) == {
        "floor-copy-flagship": {
            "id": "c1d2",
            "image": "sha256:aaaa",
            "reference": "registry.example/vllm@sha256:bbbb",
            "running": True,
            "pid": 4242,
        }
    }
    assert programs.ran == [["docker", "container", "inspect", "--", "floor-copy-flagship"]]


def test_a_stopped_container_has_no_pid(programs: Programs) -> None:
    programs.on("docker", out=json.dumps([{**SEEN, "State": {"Running": False, "Pid": 0}}]))
    assert containers.inspect(["x"], programs)["floor-copy-flagship"]["pid"] is None


@pytest.mark.parametrize(
    "said",
    [
        "Error: No such container: floor-copy-b",
        "Error response from daemon: No such container: floor-copy-b",
        "Error: no such object: floor-copy-b",
    ],
)
def test_those_that_exist_are_told_when_others_do_not(programs: Programs, said: str) -> None:
    programs.on("docker", out=json.dumps([SEEN]), err=said + "\n", code=1)
    assert list(containers.inspect(["floor-copy-flagship", "floor-copy-b"], programs)) == ["floor-copy-flagship"]


def test_none_asked_for_runs_nothing(programs: Programs) -> None:
    assert containers.inspect([], programs) == {}
    assert programs.ran == []


def test_a_box_without_docker_has_no_containers_no_images_and_no_version(programs: Programs) -> None:
    assert containers.inspect(["x"], programs) == {}
    assert containers.images(["i"], programs) == {"i": None}
    assert containers.version(programs) is None


def test_a_docker_that_is_down_is_an_error_not_an_empty_box(programs: Programs) -> None:
    programs.on("docker", err=DOWN, code=1)
    for ask in (lambda: containers.inspect(["x"], programs), lambda: containers.images(["i"], programs)):
        with pytest.raises(FloorError, match="docker does not answer: Cannot connect to the Docker daemon"):
            ask()
    with pytest.raises(FloorError, match="look at `systemctl status docker`"):
        containers.version(programs)


def test_a_failure_beside_a_missing_container_is_not_overlooked(programs: Programs) -> None:
    programs.on("docker", out="[]", err=f"Error: No such container: b\n{DOWN}\n", code=1)
    with pytest.raises(FloorError, match="docker does not answer"):
        containers.inspect(["b"], programs)


def test_an_answer_that_is_no_json_is_named(programs: Programs) -> None:
    programs.on("docker", out="<html>")
    with pytest.raises(FloorError, match="docker container inspect answered no JSON: '<html>'"):
        containers.inspect(["x"], programs)


def test_images_are_told_by_id_or_as_missing(programs: Programs) -> None:
    programs.on("docker", "image", "inspect", "there", out='[{"Id": "sha256:1"}]')
    programs.on("docker", "image", "inspect", "gone", out="[]", err="Error: No such image: gone", code=1)
    assert containers.images(["there", "gone"], programs) == {"there": "sha256:1", "gone": None}


def test_a_name_that_looks_like_an_option_is_not_one(programs: Programs) -> None:
    programs.on("docker", out="[]")
    containers.images(["--format=x"], programs)
    assert programs.ran[0][-2:] == ["--", "--format=x"]


def test_removing_takes_a_container_by_force(programs: Programs) -> None:
    programs.on("docker", "rm")
    containers.remove("floor-copy-m", programs)
    assert programs.ran == [["docker", "rm", "--force", "--", "floor-copy-m"]]


def test_removing_one_that_is_gone_is_fine_and_a_failure_is_told(programs: Programs) -> None:
    programs.rules.append((("gone",), Result(1, "", "Error: No such container: gone")))
    programs.rules.append((("stuck",), Result(1, "", "device busy")))
    containers.remove("gone", programs)
    with pytest.raises(FloorError, match="container stuck: cannot be removed: device busy"):
        containers.remove("stuck", programs)


def test_the_version_is_the_daemons(programs: Programs) -> None:
    programs.on("docker", "version", out="28.1.0\n")
    assert containers.version(programs) == "28.1.0"
