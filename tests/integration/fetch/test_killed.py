"""`floor fetch` with tasks in processes of their own: killed, left alone, stopped, looked into."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from floor.box import task
from floor.errors import FloorError
from floor.operations.fetch import Hub
from floor.operations.fetch_run import fetch, stop
from floor.plan.fetch import task_name
from tests.hub import TOKEN
from tests.integration.fetch.conftest import FOLDER, Place, same

BOXES = ("spark-a", "spark-b")
WEIGHTS = "model-00001-of-00003.safetensors"


def test_a_token_is_needed_and_stays_nowhere(real: Place) -> None:
    real.hub.gated = True
    with pytest.raises(FloorError, match=r"org/flagship is gated: .* \(no token: set HF_TOKEN\)"):
        real.fetch()
    token = real.token = real.hub.token = f"{TOKEN}-{os.getpid()}"  # nobody else's
    real.hub.faults.pace = 0.03
    seen: list[bytes] = []

    def look() -> None:
        while real.token:
            for process in Path("/proc").glob("[0-9]*"):
                for name in ("cmdline", "environ"):
                    try:
                        seen.append((process / name).read_bytes())
                    except OSError:
                        continue
            time.sleep(0.3)

    watch = threading.Thread(target=look)
    watch.start()
    try:
        real.fetch()
    finally:
        real.token = None
        watch.join()
    same(real)
    assert any(b"floor.agent.fetch" in text for text in seen)
    assert not any(token.encode() in text for text in seen)
    kept = [path for box in BOXES for path in real.root(box).rglob("*") if path.is_file()]
    assert not any(token.encode() in path.read_bytes() for path in kept)


@pytest.mark.parametrize("seed", range(2))
def test_killed_anywhere_the_same_command_goes_on(real: Place, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 -- the same each time
    real.hub.faults.pace = 0.01
    kills = [chance.uniform(0.1, 0.9) for _ in range(2)]
    total = sum(map(len, real.hub.files.values()))
    over = threading.Event()

    def killer() -> None:
        for share in kills:
            before = real.hub.sent
            while real.hub.sent < before + share * total / 2 and not over.is_set():
                time.sleep(0.005)
            real.kill()

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        for _ in range(8):
            if real.fetch(patience={"timeout": 1.0, "tries": 2, "wait": 0.01}).complete:
                break
            for box in BOXES:  # never a folder that looks whole before it is
                assert not real.at(box).exists() or real.contents(box) == real.hub.files
    finally:
        over.set()
        thread.join()
    same(real)


def test_a_box_goes_on_when_the_command_is_gone_and_the_next_one_joins(real: Place) -> None:
    real.hub.faults.pace = 0.05
    name = task_name(FOLDER)

    class GoneError(Exception):
        """The command dies while the box works."""

    def dies(_line: str) -> None:
        if task.pid(name, real.root("spark-a")):
            raise GoneError

    with pytest.raises(GoneError):
        fetch(real.site(), Hub(real.hub.url), (), (), real.said.append, dies)
    worker = task.pid(name, real.root("spark-a"))
    assert worker
    assert real.fetch().complete
    same(real)
    assert real.hub.sent == sum(map(len, real.hub.files.values()))


def test_a_box_that_gets_it_from_another_goes_on_with_that_one(real: Place) -> None:
    """The command dies while spark-b takes from spark-a: the next one leaves both as they are, and waits."""
    name, held = task_name(FOLDER), list[int]()

    class GoneError(Exception):
        """The command dies while the box works."""

    def dies(_line: str) -> None:
        if found := task.pid(name, real.root("spark-b")):
            os.kill(found, signal.SIGSTOP)
            held.append(found)
            raise GoneError

    with pytest.raises(GoneError):
        fetch(real.site(), Hub(real.hub.url), (), (), real.said.append, dies)
    again = threading.Thread(target=real.fetch)
    again.start()
    try:
        while not any("spark-b: goes on with" in line for line in real.said) and again.is_alive():
            time.sleep(0.02)
    finally:
        os.kill(held[0], signal.SIGCONT)
        again.join()
    same(real)
    assert not any("another way" in line for line in real.said)
    assert real.hub.sent == sum(map(len, real.hub.files.values()))


def test_stopped_by_hand_it_ends_and_goes_on_later(real: Place) -> None:
    real.hub.faults.pace = 0.05
    thread = threading.Thread(target=real.fetch)
    thread.start()
    while not task.pid(task_name(FOLDER), real.root("spark-a")):
        time.sleep(0.01)
    said: list[str] = []
    stop(real.site(), (), (), said.append)
    thread.join()
    assert said == ["spark-a: stopped; `floor fetch` goes on from what has come"]
    real.hub.faults.pace = 0
    assert real.fetch().complete
    said.clear()
    stop(real.site(), (), (), said.append)
    assert said == ["nothing is being fetched"]


def test_a_killed_server_of_a_box_is_no_harm(real: Place) -> None:
    """The giving task dies in the middle: the taker says so, and the next run goes on."""
    real.fetch(boxes=("spark-a",))
    real.hub.port = 1

    def kill() -> None:
        name = f"serve-{task_name(FOLDER)}"
        while not (found := task.pid(name, real.root("spark-a"))):
            time.sleep(0.005)
        os.kill(found, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        real.fetch()
    except FloorError as error:
        print(error)
    thread.join()
    assert real.fetch().complete
    same(real)
