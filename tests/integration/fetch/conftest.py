"""Two boxes that are folders: the agent's calls on them, tasks in threads or processes, and a hub on its own port."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from floor.agent import fetch as worker
from floor.agent.__main__ import refusal
from floor.agent.call import Call
from floor.agent.params import Params
from floor.agent.registry import find
from floor.apply.exchange import Transport, failure
from floor.box import manifest, task
from floor.box.command import Result
from floor.config.load import load
from floor.errors import FloorError
from floor.operations.fetch import Hub as Asked
from floor.operations.fetch_run import Fetched, fetch
from floor.operations.site import Site
from tests.hub import REVISION, Hub

FOLDER = "/models/flagship"
SITE = """\
boxes:
  spark-a: {{host: 127.0.0.2, ssh: one, status_port: 8097, fabric: {{interface: lo, address: 127.0.0.3}}}}
  spark-b: {{host: 127.0.0.4, ssh: two, status_port: 8096, fabric: {{interface: lo, address: 127.0.0.5}}}}
models:
  flagship:
    source: {source}
    fetch: {{repo: org/flagship, revision: "{revision}"{include}}}
    utilization: 0.1
    runtime: {{kind: native, command: /opt/vllm/bin/vllm}}
    replicas: [spark-a, {{box: spark-b, port: 8001}}]
proxy: {{boxes: [spark-a]}}
"""
PATIENCE = {"timeout": 1.0, "tries": 3, "wait": 0.01}


STARTED: list[subprocess.Popen[bytes]] = []


class FolderBox(Transport):
    """A box that is a folder: the agent's own functions, without a process for each call."""

    def __init__(self, box: str, root: Path, *, processes: bool) -> None:
        super().__init__(box)
        self.root, self.processes = root, processes
        self.started = STARTED

    def call(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: float = 30, payload: bytes | None = None
    ) -> Any:
        if name == "observe":
            return {"release": "1"}
        given = Params(name, dict(params or {}))
        try:
            return find(name)(Call(given, self.root, io.BytesIO(payload or b""), run=self.run))
        except FloorError as error:
            raise failure(self.box, refusal(error)) from None

    def run(self, argv: Sequence[str], **_: Any) -> Result:
        """Only systemd-run is there: what stands behind `--` outlives its caller."""
        if argv[0] != "systemd-run":
            return Result(None, "", f"{argv[0]}: not installed")
        words = list(argv[argv.index("--") + 1 :])
        if self.processes:
            self.started.append(
                subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
            )
        else:
            threading.Thread(target=worker.main, args=(["fetch", *words[4:]],), daemon=True).start()
        return Result(0, "", "")


def end_thread(name: str, root: Path, *_: object) -> bool:
    """`task.stop` for a task in a thread of this process: only servers are ended."""
    if task.pid(name, root) is None:
        return False
    worker.OVER.set()
    while task.pid(name, root) is not None:
        time.sleep(0.01)
    worker.OVER.clear()
    return True


@dataclass
class Place:
    """The folder of the test: floor.yaml, and a folder for each box."""

    folder: Path
    hub: Hub
    said: list[str] = field(default_factory=list)
    token: str | None = None
    processes: bool = False

    def write(self, source: str = FOLDER, revision: str = REVISION, include: str = "") -> None:
        (self.folder / "floor.yaml").write_text(SITE.format(source=source, revision=revision, include=include))

    def root(self, box: str) -> Path:
        return self.folder / box

    def at(self, box: str, path: str = "") -> Path:
        """A file of the weights on a box."""
        return self.root(box) / FOLDER.lstrip("/") / path

    def site(self) -> Site:
        loaded = load(self.folder / "floor.yaml")
        boxes = {name: FolderBox(name, self.root(name), processes=self.processes) for name in ("spark-a", "spark-b")}
        return Site(loaded, boxes, "1")

    def fetch(self, *models: str, boxes: tuple[str, ...] = (), **given: Any) -> Fetched:
        asked = Asked(self.hub.url, self.token)
        given = {"patience": PATIENCE, **given}
        return fetch(self.site(), asked, models, boxes, self.said.append, lambda _line: None, **given)

    def contents(self, box: str) -> dict[str, bytes]:
        """The files of the weights on a box, without what floor keeps beside them."""
        home = self.at(box)
        found = [path for path in home.rglob("*") if path.is_file() and not path.name.startswith(".floor")]
        return {str(path.relative_to(home)): path.read_bytes() for path in found}

    def kill(self) -> None:
        """End every task on every box, at once."""
        for box in ("spark-a", "spark-b"):
            for lock in (self.root(box) / "run/floor/fetch").glob("*.lock"):
                if task.ID.fullmatch(lock.stem) and (pid := task.pid(lock.stem, self.root(box))):
                    os.kill(pid, signal.SIGKILL)


def same(place: Place) -> None:
    """Both boxes hold all of it, and say so in the same words."""
    assert place.contents("spark-a") == place.hub.files
    assert place.contents("spark-b") == place.hub.files
    one, two = (manifest.read(place.at(box)) for box in ("spark-a", "spark-b"))
    assert one
    assert two
    assert one.digest == two.digest


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


def _place(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr("floor.operations.fetch_tasks.POLL", 0.02)
    place = Place(folder, hub)
    for box in ("spark-a", "spark-b"):
        for inside in ("models", "run/floor", "var/lib/floor"):
            (place.root(box) / inside).mkdir(parents=True)
    place.write()
    return place


@pytest.fixture
def place(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Both boxes without any weights; tasks are threads."""
    monkeypatch.setattr(task, "stop", end_thread)
    return _place(tmp_path, hub, monkeypatch)


@pytest.fixture
def real(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Both boxes without any weights; tasks are processes, which can be killed."""
    place = _place(tmp_path, hub, monkeypatch)
    place.processes = True
    monkeypatch.setattr("floor.operations.fetch_tasks.POLL", 0.1)
    yield place
    place.kill()
    while STARTED:
        STARTED.pop().wait(20)
