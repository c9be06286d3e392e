"""While a key is replaced some processes take the present one, some the next: each is asked with its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from floor.errors import FloorError
from floor.healthcheck.client import make_client
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Reason
from floor.pool import boxes, front
from floor.pool.members import followers, read, text
from floor.pool.settings import Pool
from floor.pool.watch import PROBE_TIMEOUT, BackendWatch, BoxWatch
from floor.pool.watches import Watches
from tests.unit.pool.documents import backend, settings

SOCKET = "/run/floor/nginx/empty.sock"
NEXT = "unix:/run/floor/nginx/next-b.sock"
UNIT = "floor-copy-flagship.service"


def pools() -> tuple[Pool, ...]:
    return settings(backend("flagship@a", "192.0.2.11"), backend("flagship@b", "192.0.2.12", next=NEXT)).pools


class Engine:
    """An idle vLLM that takes one key."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.keys: list[str] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.keys.append(given)
        if request.url.path.startswith("/v1") and given != self.key:
            return httpx.Response(401, json={"error": "Unauthorized"})
        if request.url.path == "/v1/models":
            return httpx.Response(200, json={"data": [{"id": "flagship"}]})
        if request.method == "POST":
            return httpx.Response(200, json={"usage": {"completion_tokens": 1}})
        return httpx.Response(200)


def watched(
    engine: Engine, *, following: str | None, then: Callable[[], None] = lambda: None
) -> tuple[BackendWatch, set[Reason]]:
    """Watch an engine with the present key and perhaps one that follows; return the watch and all reasons it told."""
    reasons: set[Reason] = set()

    async def run() -> BackendWatch:
        target = Target("flagship@a", "http://192.0.2.11:8000", "flagship", key="present", probe_timeout=PROBE_TIMEOUT)
        other = None if following is None else Target("flagship@a", target.url, "flagship", key=following)
        async with make_client(httpx.MockTransport(engine)) as client:

            def changed() -> None:
                assert made.verdict is not None
                reasons.add(made.verdict.reason)

            made = BackendWatch(client, target, 0.001, lambda: 100.0, changed, other)
            task = asyncio.create_task(made.run())
            for turn in range(6):
                for _ in range(300):
                    await asyncio.sleep(0)
                if turn == 2:
                    then()
                await asyncio.sleep(0.002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return made

    return asyncio.run(run()), reasons


@pytest.mark.parametrize(("takes", "follows"), [("present", False), ("next", True)])
def test_an_engine_is_asked_with_the_key_that_it_takes_and_is_never_told_to_refuse(takes: str, follows: bool) -> None:
    made, reasons = watched(Engine(takes), following="next")
    assert made.follows is follows
    assert Reason.AUTH_REQUIRED not in reasons
    assert Reason.OK in reasons


def test_an_engine_that_starts_anew_with_the_next_key_is_found_at_once() -> None:
    engine = Engine("present")

    def restart() -> None:
        engine.key = "next"

    made, reasons = watched(engine, following="next", then=restart)
    assert made.follows is True
    assert Reason.AUTH_REQUIRED not in reasons


def test_who_takes_neither_is_told_so() -> None:
    made, reasons = watched(Engine("another"), following="next")
    assert (made.follows, reasons) == (None, {Reason.AUTH_REQUIRED})
    made, reasons = watched(Engine("next"), following=None)
    assert (made.follows, reasons) == (None, {Reason.AUTH_REQUIRED})


def test_the_members_file_names_the_way_of_the_key_and_is_read_back() -> None:
    names = ["flagship@a", "flagship@b"]
    made = text(pools(), names, SOCKET, ["flagship@b", "flagship@a"])
    assert "server 192.0.2.11:8000 weight=1 max_fails=0;" in made  # it has no other way
    assert f"server {NEXT} weight=1 max_fails=0;" in made
    assert "192.0.2.12" not in made
    assert read(pools(), made) == frozenset(names)
    assert followers(pools(), made) == {"flagship@b"}
    assert followers(pools(), text(pools(), names, SOCKET)) == frozenset()


def test_an_empty_start_keeps_the_ways_that_there_were(tmp_path: Path) -> None:
    front.write(pools(), frozenset({"flagship@b"}), tmp_path, frozenset({"flagship@b"}))
    assert not front.ensure(pools(), tmp_path)


def test_who_is_not_known_yet_keeps_the_way_that_he_had() -> None:
    given = settings(backend("flagship@a", "192.0.2.11"), backend("flagship@b", "192.0.2.12", next=NEXT))
    watches = Watches(given, ("present", "next"), ("status",), lambda: 7.0, lambda: None, lambda _: None)
    assert watches.following({"flagship@b"}) == {"flagship@b"}
    assert watches.following(()) == frozenset()


@pytest.mark.parametrize(("following", "asked"), [("next", ["present", "next", "next"]), (None, ["present"] * 3)])
def test_a_box_is_asked_with_the_status_key_that_it_takes(following: str | None, asked: list[str]) -> None:
    keys: list[str] = []
    log: list[str] = []

    async def ask(url: str, key: str, *, asked: float, within: float) -> boxes.Status:
        if len(keys) == 3:
            await asyncio.sleep(60)
        keys.append(key)
        if key != "next":
            raise boxes.StrangerError(f"{url}: answers 401")
        return boxes.Status(asked, {})

    async def run() -> None:
        made = BoxWatch(
            "http://a/status", "present", 0.0, lambda: 1.0, lambda: None, log.append, ask, following=following
        )
        task = asyncio.create_task(made.run())
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert keys == asked
    assert bool(log) is (following is None)


def test_a_status_port_that_refuses_is_told_apart() -> None:
    with pytest.raises(boxes.StrangerError, match="answers 401; the boxes' status keys differ"):
        boxes.read(b"HTTP/1.1 401 Unauthorized\r\n\r\n{}", "http://a/status", 1.0)
    assert issubclass(boxes.StrangerError, FloorError)
