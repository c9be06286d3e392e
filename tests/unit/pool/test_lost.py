"""Connections to a box are ended when it is gone, once, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from floor.errors import FloorError
from floor.pool import lost
from floor.pool.decide import Decision
from floor.pool.lost import Lost
from floor.pool.sever import Severed
from floor.pool.standing import Standing
from tests.unit.pool.documents import settings

BACKEND = settings().backends[0]
GONE = Decision(False, Standing.GONE, "unreachable", "no connection within 0.9 s")
REFUSED = Decision(False, Standing.GONE, "refused", "connection refused")
MISSED = Decision(True, Standing.HOLD, "unreachable", "no connection within 0.9 s")
SERVES = Decision(True, Standing.SERVES, "ok", "generates")


class Scene:
    def __init__(self, error: str | None = None) -> None:
        self.asked: list[tuple[str, int]] = []
        self.told: list[str] = []
        self.error = error
        self.lost = Lost(self.sever, lambda _, text: self.told.append(text))

    async def sever(self, address: str, port: int) -> Severed:
        self.asked.append((address, port))
        if self.error is not None:
            raise FloorError(self.error)
        return Severed(7, 0)


def play(scene: Scene, looks: Callable[[Lost], None]) -> None:
    async def run() -> None:
        looks(scene.lost)
        for _ in range(50):
            await asyncio.sleep(0)
        await scene.lost.close()

    asyncio.run(run())


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "PAUSES", (0.0, 0.0, 0.0))


def test_a_lost_box_is_severed_in_rounds_and_told_once() -> None:
    scene = Scene()

    def looks(one: Lost) -> None:
        for _ in range(4):
            one.look(BACKEND, GONE, box_answers=False)

    play(scene, looks)
    assert scene.asked == [("192.0.2.11", 8000)] * 3
    assert scene.told == ["flagship@a is unreachable: ended 7 connections to it"]


@pytest.mark.parametrize("decision", [REFUSED, MISSED, SERVES], ids=lambda decision: decision.reason)
def test_nothing_else_is_severed(decision: Decision) -> None:
    scene = Scene()
    play(scene, lambda one: one.look(BACKEND, decision, box_answers=False))
    assert scene.asked == []


def test_a_box_that_answers_elsewhere_ends_its_connections_itself() -> None:
    scene = Scene()
    play(scene, lambda one: one.look(BACKEND, GONE, box_answers=True))
    assert scene.asked == []


def test_a_box_that_is_lost_again_is_severed_again() -> None:
    scene = Scene()

    def looks(one: Lost) -> None:
        for decision in (GONE, SERVES, GONE):
            one.look(BACKEND, decision, box_answers=False)

    play(scene, looks)
    assert len(scene.told) == 2


def test_what_cannot_be_done_is_said() -> None:
    scene = Scene("floor-pool needs CAP_NET_ADMIN")
    play(scene, lambda one: one.look(BACKEND, GONE, box_answers=False))
    assert scene.told == [
        "flagship@a is unreachable, and requests on it hang until they time out: floor-pool needs CAP_NET_ADMIN"
    ]
