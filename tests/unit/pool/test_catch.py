"""The pool's part in a handover of the shared address: when rules are loaded, when they go, what is told of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from floor.box import address, handover, paths
from floor.errors import FloorError
from floor.pool.catch import AGAIN, Catch

A = "02:00:00:00:00:0a"
LEAVING = [{"leaves": A, "catches": None}]
SETTINGS = {
    "address": "192.0.2.10",
    "interface": "eth0",
    "own": "192.0.2.11",
    "status_key_file": "/k",
    "peers": [{"box": "b", "address": "192.0.2.12", "status_url": "http://192.0.2.12:8099/status"}],
    "within": 60,
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / str(paths.ADDRESS_SETTINGS).lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(SETTINGS))
    told: dict[str, str | None] = {"leaves": None, "catches": None}
    monkeypatch.setattr(handover, "told", lambda _root: dict(told))
    monkeypatch.setattr(handover, "mark", lambda _place, value, _root: told.update(catches=value))
    return tmp_path


class Kernel:
    def __init__(self) -> None:
        self.did: list[str] = []
        self.broken = False

    def begin(self, settings: address.Settings, other: str) -> None:
        if self.broken:
            raise FloorError("nft refuses")
        self.did.append(f"catch {settings.address} {other}")

    def end(self) -> None:
        self.did.append("end")


def _look(catch: Catch, *rounds: tuple[list[Any], float]) -> None:
    async def run() -> None:
        for statuses, now in rounds:
            await catch.look(statuses, now)

    asyncio.run(run())


def test_rules_come_and_go_once(root: Path) -> None:
    kernel, said = Kernel(), list[str]()
    catch = Catch(root, said.append, kernel.begin, kernel.end)
    _look(catch, ([None, {}], 0), (LEAVING, 1), (LEAVING, 2))
    assert kernel.did == [f"catch 192.0.2.10 {A}"]
    assert handover.told(root)["catches"] == A
    _look(catch, ([None], 3), ([{}], 4))
    assert kernel.did[1:] == ["end"]
    assert handover.told(root)["catches"] is None
    assert said == [
        f"the shared address: sends on what belongs to {A}, which leaves",
        "the shared address: sends nothing on any more",
    ]


def test_a_pool_that_was_killed_meanwhile_ends_what_it_began(root: Path) -> None:
    kernel = Kernel()
    handover.mark(paths.ADDRESS_CATCHES, A, root)
    _look(Catch(root, print, kernel.begin, kernel.end), ([{}], 0))
    assert kernel.did == ["end"]


def test_what_fails_is_said_and_tried_again(root: Path) -> None:
    kernel, said = Kernel(), list[str]()
    kernel.broken = True
    catch = Catch(root, said.append, kernel.begin, kernel.end)
    _look(catch, (LEAVING, 0), (LEAVING, 1))
    assert said == ["the shared address: nft refuses"]
    assert handover.told(root)["catches"] is None
    kernel.broken = False
    _look(catch, (LEAVING, AGAIN))
    assert kernel.did == [f"catch 192.0.2.10 {A}"]
