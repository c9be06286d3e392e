"""Images: pulled once, packed and loaded elsewhere, compared by their ids, and told in words where that cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from floor.apply.transport import UnreachableError
from floor.config.load import Loaded, parse
from floor.operations.fetch_images import Images
from floor.operations.fetch_tasks import Tasks
from floor.operations.site import Site
from floor.plan.fetch import Image

ID, OTHER = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
GIB = 1 << 30
TEXT = """\
boxes:
  spark-a: {host: 192.0.2.11, fabric: {interface: eth1, address: 198.51.100.1}}
  spark-b: {host: 192.0.2.12, fabric: {interface: eth1, address: 198.51.100.2}}
models:
  flagship:
    source: /models/flagship
    utilization: 0.4
    runtime: {kind: docker, image: "vllm:v1"}
    replicas: [spark-a, spark-b]
proxy: {boxes: [spark-a]}
"""


@dataclass
class DockerBox:
    """A box with docker: tasks are done at once. `registry` is what a pull brings, None where it is out of reach."""

    box: str
    registry: str | None = ID
    image: str | None = None
    digests: bool = False
    docker: str | None = "24.0"
    free: int = 100 * GIB
    up: bool = True
    peers: bool = True
    packed: bool = False
    jobs: list[dict[str, Any]] = field(default_factory=list)
    states: dict[str, dict[str, Any]] = field(default_factory=dict)

    def call(self, name: str, params: dict[str, Any], **_: Any) -> Any:
        if not self.up:
            raise UnreachableError(f"{self.box}: no way there")
        return getattr(self, name.removeprefix("fetch."))(params)

    def look(self, params: dict[str, Any]) -> Any:
        seen = {"id": self.image, "size": 10 * GIB} if self.image else None
        docker = {"docker": self.docker, "digests": self.digests, "free": self.free, "device": 1, "error": None}
        return {
            "folders": {folder: {"exists": False, "free": self.free, "device": 1} for folder in params["folders"]},
            "docker": {**docker, "images": dict.fromkeys(params["images"], seen)},
            "tasks": {task: self.states.get(task) for task in params["tasks"]},
        }

    def start(self, params: dict[str, Any]) -> Any:
        job = params["job"]
        self.jobs.append(job)
        self.states[params["task"]] = {"state": "done", **getattr(self, f"_{job['kind']}")(job)}
        return {"started": True, "job": job}

    def _pull(self, job: dict[str, Any]) -> dict[str, Any]:
        if self.registry is None:
            return {"state": "failed", "error": "failed", "message": "docker pull vllm:v1: no route"}
        self.image = self.registry
        return {}

    def _pack(self, job: dict[str, Any]) -> dict[str, Any]:
        self.packed = True
        return {"folder": "/var/lib/floor/fetch/111111111111", "size": 10 * GIB}

    def _serve(self, job: dict[str, Any]) -> dict[str, Any]:
        return {"state": "working", "listening": [["198.51.100.1", 8098]]}

    def _image(self, job: dict[str, Any]) -> dict[str, Any]:
        if not self.peers:
            return {"state": "failed", "error": "unreachable", "message": "the other box cannot be reached"}
        self.image = job["image"]
        return {}

    def read(self, _params: dict[str, Any]) -> Any:
        return {"manifest": {"repo": "vllm:v1", "revision": ID, "include": [], "files": []}}

    def stop(self, _params: dict[str, Any]) -> Any:
        return {"stopped": False}

    def drop(self, _params: dict[str, Any]) -> Any:
        self.packed = False
        return {}


@dataclass
class Docks:
    """Two such boxes, and what was said."""

    one: DockerBox
    two: DockerBox
    said: list[str] = field(default_factory=list)

    def bring(self, reference: str = "vllm:v1") -> Images:
        loaded = Loaded(parse(TEXT), TEXT, None)  # type: ignore[arg-type] # no file is read
        boxes: Any = {"spark-a": self.one, "spark-b": self.two}
        clock = iter(range(10**6))
        site = Site(loaded, boxes, "1", lambda host: host, lambda: float(next(clock)), lambda _: None)
        tasks = Tasks(site, self.said.append, lambda _line: None)
        run = Images(site, tasks, self.said.append)
        goal = Image(reference, ("flagship",), ("spark-a", "spark-b"))
        run.bring(goal)
        self.ids, self.equal = run.compare(goal)
        return run


@pytest.fixture
def docks() -> Docks:
    return Docks(DockerBox("spark-a"), DockerBox("spark-b"))


def kinds(box: DockerBox) -> list[str]:
    return [job["kind"] for job in box.jobs]


def test_an_image_that_somebody_removes_at_once_is_not_fetched_for_ever(docks: Docks) -> None:
    docks.one._pull = lambda _job: {}  # type: ignore[method-assign]
    assert docks.bring().failed == ["spark-a: vllm:v1 was brought there and is gone again; who removes it?"]


def test_it_is_pulled_once_and_carried_over_the_fabric(docks: Docks) -> None:
    run = docks.bring()
    assert (run.failed, docks.equal) == ([], True)
    assert (kinds(docks.one), kinds(docks.two)) == (["pull", "pack", "serve"], ["image"])
    assert docks.two.jobs[0]["from"] == {
        "kind": "box",
        "urls": ["http://198.51.100.1:8098", "http://192.0.2.11:8098"],
    }
    assert not docks.one.packed  # nothing is left behind


def test_the_box_with_a_registry_in_reach_pulls(docks: Docks) -> None:
    docks.one.registry = None
    assert docks.bring().failed == []
    assert (kinds(docks.one), kinds(docks.two)) == (["pull", "image"], ["pull", "pack", "serve"])


def test_no_registry_in_reach(docks: Docks) -> None:
    docks.one.registry = docks.two.registry = None
    assert docks.bring().failed == [
        f"{box}: vllm:v1 can be had from nowhere; is the registry reachable, and root's docker logged in?"
        for box in ("spark-a", "spark-b")
    ]


def test_boxes_that_do_not_reach_each_other_pull_each(docks: Docks) -> None:
    docks.two.peers = False
    assert docks.bring().failed == []
    assert kinds(docks.two) == ["image", "pull"]


def test_a_digest_that_docker_would_forget_is_pulled_on_each(docks: Docks) -> None:
    assert docks.bring(f"vllm@sha256:{'a' * 64}").failed == []
    assert (kinds(docks.one), kinds(docks.two)) == (["pull"], ["pull"])


def test_a_digest_on_a_box_without_internet_says_what_to_write(docks: Docks) -> None:
    docks.two.registry = None
    [line] = docks.bring(f"vllm@sha256:{'a' * 64}").failed
    assert line.startswith("spark-b: vllm@sha256:aaa")
    assert line.endswith(f"write `image: {ID}` (its id, the same on every box) or a tag, and fetch again")


def test_an_id_is_carried_and_never_pulled(docks: Docks) -> None:
    docks.one.image = ID
    assert docks.bring(ID).failed == []
    assert (kinds(docks.one), kinds(docks.two)) == (["pack", "serve"], ["image"])
    docks.one.image = docks.two.image = None
    assert docks.bring(ID).failed == [
        f"{box}: {ID} is an image's id: no registry gives it, and no box has it; load it on one box"
        for box in ("spark-a", "spark-b")
    ]


def test_two_images_of_one_name_are_told(docks: Docks) -> None:
    docks.one.image, docks.two.image = ID, OTHER
    [line] = docks.bring().failed
    assert not docks.equal
    assert line == (
        f"vllm:v1 is not the same image everywhere (spark-a: {ID}, spark-b: {OTHER}); take the wrong one away with "
        "`docker rmi`, and fetch again"
    )


def test_a_disk_that_is_too_small_for_both_forms_is_told_before_it_is_packed(docks: Docks) -> None:
    docks.one.image, docks.two.free = ID, 15 * GIB
    assert docks.bring().failed == [
        "spark-b: the disk of /var/lib/floor/fetch has 15.0 GiB free, 20.2 GiB are needed (vllm:v1)"
    ]
    assert kinds(docks.one) == []


def test_a_box_without_docker_and_one_that_is_away_are_named(docks: Docks) -> None:
    docks.one.docker, docks.two.up = None, False
    run = docks.bring()
    assert run.failed == ["spark-a: no image can be brought there: docker is not installed"]
    assert run.absent == {"spark-b": "spark-b: no way there"}
