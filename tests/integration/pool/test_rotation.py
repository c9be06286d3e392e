"""The engine key is replaced under load: the rendered nginx, the real pool and keyring, one copy after the other."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from floor.box import drains, paths, secrets
from floor.box.locked import mine
from floor.healthcheck.verdict import Level
from floor.sim.process import SimulatedEngine
from tests.integration.pool.load import Load
from tests.integration.pool.test_rolling import when
from tests.integration.proxy import Copy, Proxy, site

HOSTS = ("127.0.0.2", "127.0.0.3")
NAMES = ("flagship@box0", "flagship@box1")


class Scene:
    """Two engines that ask for a key, and a proxy box in front of them whose key is being replaced."""

    def __init__(self) -> None:
        self.engines = [self.engine(host, "k" * 43) for host in HOSTS]
        copies = [Copy(engine.host, engine.port) for engine in self.engines]
        self.proxy = Proxy(site(copies), rotating=True)
        self._pool: subprocess.Popen[bytes] | None = None

    @staticmethod
    def engine(host: str, key: str, port: int | None = None) -> SimulatedEngine:
        return SimulatedEngine(
            "flagship", host=host, port=port, max_requests=32, context=4096, speed_factor=20, key=key
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            for engine in self.engines:
                engine.start()
            self.proxy.start()
            root = self.proxy.root
            secrets.put("k" * 43, "s" * 43, root, mine())
            self.proxy.reload()
            for part in ("var/lib/floor", "run/floor/pool"):
                (root / part).mkdir(parents=True, exist_ok=True)
            settings = json.loads(self.proxy.state.file(str(paths.POOL_SETTINGS)).text)  # type: ignore[union-attr]
            for backend in settings["pools"][0]["backends"]:
                backend |= {"unit": None, "status_url": None}  # nobody tells of units here
            paths.under(root, paths.POOL_SETTINGS).write_text(self._moved(json.dumps(settings)))
            self.restart_pool()
            yield
        finally:
            self.stop_pool()
            self.proxy.stop()
            for engine in self.engines:
                engine.kill()

    def _moved(self, text: str) -> str:
        """The sockets of this nginx lie below its root; the keys are looked for there by the pool itself."""
        return text.replace("unix:/run/", f"unix:{self.proxy.root}/run/")

    def restart_pool(self) -> None:
        self.stop_pool()
        root = str(self.proxy.root)
        argv = [sys.executable, "-I", "-m", "floor.pool", "--root", root, "--reload"]
        with (self.proxy.root / "pool.log").open("ab") as log:
            self._pool = subprocess.Popen([*argv, shlex.join(self.proxy.command("-s", "reload"))], stderr=log)

    def stop_pool(self) -> None:
        if self._pool is not None:
            self._pool.terminate()
            self._pool.wait(10)

    def state(self) -> dict[str, Any]:
        place = paths.under(self.proxy.root, paths.POOL_STATE)
        return dict(json.loads(place.read_text())) if place.exists() else {}

    def members(self) -> list[str]:
        return list(self.state().get("pools", {}).get("flagship", {}).get("members", []))

    def level(self, name: str) -> int | None:
        """How far up the pool found a backend last."""
        level = self.state()["pools"]["flagship"]["backends"][name]["level"]
        return None if level is None else int(level)

    def ways(self) -> int:
        """How many members are reached by the way of the next key."""
        return paths.under(self.proxy.root, paths.MEMBERS).read_text().count("/next-")


def test_no_request_fails_while_every_copy_gets_another_key() -> None:
    asyncio.run(replace())


async def replace() -> None:
    scene = Scene()
    with scene.running():
        root = scene.proxy.root
        await when(lambda: scene.members() == list(NAMES))
        secrets.begin("engine", root, owner=mine())
        scene.restart_pool()
        following = secrets.starting(root)
        assert following is not None
        async with Load(scene.proxy.port(), shorts=6) as load:
            for number, name in enumerate(NAMES):
                drains.add(name, "a person", None, at=time.time(), root=root)
                await when(lambda name=name: scene.state()["acknowledged"].get(name))
                old = scene.engines[number]
                await when(lambda old=old: not (old.state()["running"] or old.state()["waiting"]))
                await asyncio.to_thread(old.kill)
                # No unit tells of its restart here: one between two looks would come back by the way of before.
                await when(lambda name=name: scene.level(name) == Level.DOWN)
                scene.engines[number] = scene.engine(HOSTS[number], following, old.port)
                await asyncio.to_thread(scene.engines[number].start)
                drains.remove(name, None, None, root=root)
                await when(lambda: scene.members() == list(NAMES))
                assert scene.ways() == number + 1
            secrets.promote(root, mine())
            scene.restart_pool()
            await when(lambda: scene.ways() == 0)
            assert scene.members() == list(NAMES)
            ended = load.ended
            await when(lambda: load.ended >= ended + 50)
        assert load.failed == []
        assert load.ended >= 100
        assert secrets.accepted("engine", root) == [following]
