"""Bringing nginx to the members: what is written, when it is reloaded, and what happens when it will not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from floor.box import paths
from floor.errors import FloorError
from floor.pool.front import Front, ensure
from floor.pool.members import read
from floor.pool.rollout import LIMIT, Process, Rollout
from tests.unit.pool.documents import settings

POOLS = settings().pools
A, B = "flagship@a", "flagship@b"
NOBODY, ONE, BOTH = frozenset[str](), frozenset({B}), frozenset({A, B})
OLD = 0  # ticks: before anything of a test; the file is always written later
YOUNG = 10**12


class Nginx:
    """Its processes, and what a reload does to them."""

    def __init__(self, started: int = OLD) -> None:
        self.process: Process | None = Process(1, started)
        self.pids = [11, 12]
        self.reloads = 0
        self.error: str | None = None
        self.deaf = False

    def master(self) -> Process | None:
        return self.process

    def workers(self, master: Process | None) -> tuple[Process, ...]:
        return () if master is None else tuple(Process(pid, pid) for pid in self.pids)

    async def reload(self) -> None:
        self.reloads += 1
        if self.error is not None:
            raise FloorError(self.error)
        if not self.deaf:
            self.pids = [pid + 2 for pid in self.pids]


class Scene:
    def __init__(self, root: Path, before: tuple[Rollout, tuple[int, int] | None, int] | None = None) -> None:
        self.root, self.nginx, self.log, self.now = root, Nginx(), list[str](), 100.0
        ensure(POOLS, root)
        self.start(before)

    def start(self, before: tuple[Rollout, tuple[int, int] | None, int] | None) -> None:
        self.front = Front(POOLS, self.root, self.nginx.reload, self.nginx, self.log.append, before)

    def restart(self) -> None:
        self.start((self.front.rollout, self.front.told, self.front.written))

    def bring(self, names: frozenset[str], seconds: float = 1.0) -> None:
        self.now += seconds
        asyncio.run(self.front.bring(names, self.now))

    def settle(self, names: frozenset[str]) -> None:
        for _ in range(3):
            self.bring(names)

    @property
    def file(self) -> frozenset[str]:
        return read(POOLS, paths.under(self.root, paths.MEMBERS).read_text())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """nginx serves with both, and the pool knows it."""
    made = Scene(tmp_path)
    made.settle(BOTH)
    made.nginx.reloads = 0
    return made


def test_equal_members_are_neither_written_nor_reloaded(scene: Scene) -> None:
    place = paths.under(scene.root, paths.MEMBERS)
    before = place.stat().st_ino
    for _ in range(5):
        scene.bring(BOTH)
    assert place.stat().st_ino == before
    assert scene.nginx.reloads == 0


def test_one_change_is_one_reload(scene: Scene) -> None:
    scene.settle(ONE)
    assert (scene.file, scene.front.members, scene.nginx.reloads) == (ONE, ONE, 1)
    assert scene.front.acknowledged(A)
    assert not scene.front.acknowledged(B)


def test_the_next_change_waits_for_the_one_under_way(scene: Scene) -> None:
    scene.bring(ONE)
    scene.bring(NOBODY, 0.01)
    assert (scene.file, scene.nginx.reloads) == (ONE, 1)
    scene.settle(NOBODY)
    assert (scene.file, scene.nginx.reloads) == (NOBODY, 2)


def test_who_comes_in_serves_when_the_old_workers_are_gone(scene: Scene) -> None:
    scene.settle(ONE)
    scene.bring(BOTH)
    assert (scene.front.members, scene.front.serving) == (BOTH, ONE)
    scene.settle(BOTH)
    assert scene.front.serving == BOTH


def test_a_refused_reload_puts_the_old_file_back_and_is_tried_again_later_and_later(scene: Scene) -> None:
    scene.nginx.error = "nginx: [emerg] unknown directive"
    scene.bring(ONE)
    assert (scene.file, scene.front.members) == (BOTH, BOTH)
    assert not scene.front.acknowledged(A)
    assert scene.log == [
        "nginx was not reloaded, its members stay as they were, next try in 1 s: nginx: [emerg] unknown directive"
    ]
    for _ in range(39):
        scene.bring(ONE)
    assert [line.partition("next try in ")[2].split(" ")[0] for line in scene.log] == ["1", "2", "5", "10", "30"]
    scene.nginx.error = None
    scene.settle(ONE)
    scene.bring(ONE, 30)
    scene.settle(ONE)
    assert (scene.file, scene.front.acknowledged(A)) == (ONE, True)


def test_workers_that_stay_are_said_and_told_again(scene: Scene) -> None:
    scene.nginx.deaf = True
    scene.bring(ONE)
    scene.bring(ONE, LIMIT + 1)
    assert scene.nginx.reloads == 2
    assert "still serves with its old workers; telling it again" in scene.log[-1]
    assert not scene.front.acknowledged(A)
    scene.nginx.error = "it is stuck"
    scene.bring(ONE, LIMIT + 1)
    assert scene.log[-1] == "nginx was not reloaded: it is stuck"
    scene.nginx.error, scene.nginx.deaf = None, False
    scene.bring(ONE, LIMIT + 1)
    scene.settle(ONE)
    assert scene.front.acknowledged(A)


def test_with_nginx_down_the_file_is_written_for_its_start(scene: Scene) -> None:
    scene.nginx.process, scene.nginx.error = None, "not running"
    scene.bring(ONE)
    assert (scene.file, scene.log, scene.front.acknowledged(A)) == (ONE, [], True)
    scene.nginx.process, scene.nginx.error = Process(2, YOUNG), None
    scene.settle(ONE)
    assert scene.nginx.reloads == 1, "a master that is younger than the file has read it"


def test_a_master_that_may_have_read_an_older_file_is_told(scene: Scene) -> None:
    scene.nginx.process, scene.nginx.error = None, "not running"
    scene.bring(ONE)
    scene.nginx.process, scene.nginx.error = Process(2, OLD), None
    scene.bring(ONE)
    assert not scene.front.acknowledged(A)
    scene.settle(ONE)
    assert scene.nginx.reloads == 2
    assert scene.front.acknowledged(A)


def test_a_restart_goes_on_without_a_reload(scene: Scene) -> None:
    scene.settle(ONE)
    scene.restart()
    scene.settle(ONE)
    assert (scene.nginx.reloads, scene.front.members, scene.front.acknowledged(A)) == (1, ONE, True)


def test_a_restart_in_the_middle_of_a_reload_still_waits_for_the_old_workers(scene: Scene) -> None:
    scene.nginx.deaf = True
    scene.bring(ONE)
    scene.restart()
    scene.bring(ONE)
    assert not scene.front.acknowledged(A)
    scene.nginx.pids = [21, 22]
    scene.settle(ONE)
    assert scene.front.acknowledged(A)
    assert scene.nginx.reloads == 1


def test_a_start_that_knows_nothing_reloads_once_before_it_acknowledges(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert not scene.front.acknowledged(A)
    scene.settle(NOBODY)
    assert scene.nginx.reloads == 1
    assert scene.front.acknowledged(A)


def test_ensure_writes_an_empty_pool_once_and_keeps_who_is_in(tmp_path: Path) -> None:
    assert ensure(POOLS, tmp_path)
    assert not ensure(POOLS, tmp_path)
    scene = Scene(tmp_path)
    scene.settle(ONE)
    place = paths.under(tmp_path, paths.MEMBERS)
    place.write_text(place.read_text().replace("keepalive 32;", "keepalive 8;"))
    assert ensure(POOLS, tmp_path), "nginx must find every upstream of its settings"
    assert scene.file == ONE


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    place = paths.under(tmp_path, paths.MEMBERS)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"\xff\xfe")
    with pytest.raises(FloorError, match=r"members\.conf: cannot be read .*; remove it, floor-pool writes it anew"):
        ensure(POOLS, tmp_path)


def test_a_file_that_cannot_be_written_leaves_nginx_alone_and_is_said(scene: Scene) -> None:
    place = paths.under(scene.root, paths.MEMBERS)
    place.unlink()
    place.mkdir()
    (place / "x").touch()
    scene.bring(ONE)
    assert scene.nginx.reloads == 0
    first, second = scene.log[0].splitlines()
    assert "is a folder where a file must be" in first
    assert "may name other members than nginx has" in second
    assert scene.front.members == BOTH
