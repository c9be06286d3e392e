"""Images of docker: what is there, and docker's own words where something fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from floor.box import images
from floor.box.command import Result
from floor.errors import FloorError, UsageError

ID = f"sha256:{'1' * 64}"


def docker(**answers: object) -> Callable[[Sequence[str]], Result]:
    """Answers by the second word of the command; what has none fails."""

    def run(argv: Sequence[str]) -> Result:
        found = answers.get(argv[1])
        return Result(1, "", "no such image") if found is None else Result(0, str(found), "")

    return run


def info(tmp_path: Path, *pairs: tuple[str, str]) -> str:
    return json.dumps({"DockerRootDir": str(tmp_path), "DriverStatus": [list(pair) for pair in pairs]})


@pytest.mark.parametrize(
    ("pairs", "digests"),
    [
        ([("Backing Filesystem", "extfs")], False),
        ([("driver-type", "io.containerd.snapshotter.v1")], True),
        ([], False),
    ],
)
def test_only_containerds_store_keeps_the_digest_of_what_is_loaded(
    tmp_path: Path, pairs: list[tuple[str, str]], digests: bool
) -> None:
    run = docker(version="24.0\n", info=info(tmp_path, *pairs), image=json.dumps({"id": ID, "size": 7}))
    seen = images.look(["vllm:v1"], run)
    assert seen["digests"] == digests
    assert seen["images"] == {"vllm:v1": {"id": ID, "size": 7}}
    assert seen["device"] == tmp_path.stat().st_dev


def test_a_box_without_docker_has_no_image() -> None:
    seen = images.look(["vllm:v1"], lambda _argv: Result(None, "", "docker: not installed"))
    assert (seen["docker"], seen["images"]) == (None, {"vllm:v1": None})
    down = images.look(["vllm:v1"], lambda _argv: Result(1, "", "is the daemon running?"))
    assert "is the daemon running?" in down["error"]


def test_dockers_words_are_told(tmp_path: Path) -> None:
    def fails(_argv: Sequence[str], say: Callable[[str], None]) -> tuple[int, str]:
        say("working")
        return 1, "toomanyrequests"

    with pytest.raises(FloorError, match=r"docker pull vllm:v1: toomanyrequests"):
        images.pull("vllm:v1", print, fails)
    with pytest.raises(FloorError, match=r"docker save vllm:v1: toomanyrequests"):
        images.pack("vllm:v1", tmp_path, print, fails)
    with pytest.raises(FloorError, match=r"docker load vllm:v1: toomanyrequests"):
        images.unpack(tmp_path, "vllm:v1", ID, print, fails)


def test_what_a_program_prints_is_followed() -> None:
    said: list[str] = []
    assert images.follow(["sh", "-c", "echo one; echo two >&2; exit 3"], said.append) == (3, "one / two")
    assert said == ["one", "two"]


@pytest.mark.parametrize("image", ["", "sha256:", "../../../..", "../../../etc", "sha256:../../../etc"])
def test_what_is_no_id_leads_to_no_folder(image: str) -> None:
    with pytest.raises(UsageError, match="must be an id"):
        images.spool(image)
