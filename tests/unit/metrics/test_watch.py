"""What is put together for people who look on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx

from floor.box import paths
from floor.metrics.boxes import Boxes
from floor.metrics.copies import Copy
from floor.metrics.exposition import Reader
from floor.metrics.look import OK, Look
from floor.metrics.normalise import present
from floor.metrics.settings import Backend
from floor.metrics.watch import Watch

BUSY = (Path(__file__).parents[2] / "cases" / "vllm" / "metrics_busy.txt").read_bytes()
POOL = {"at": 1000.0, "pools": {"m": {"backends": {"m@a": {"member": True, "reason": "ok", "evidence": "generates"}}}}}


class Stage:
    """One copy and a clock that is set by hand."""

    def __init__(self, root: Path) -> None:
        self.now = 10.0
        self.copy = Copy(Backend("m@a", "http://192.0.2.1:8000", "a", "m", "vllm", False))
        place = paths.under(root, paths.POOL_STATE)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(POOL))
        boxes = Boxes({}, (), httpx.AsyncClient(), lambda: self.now)
        self.watch = Watch("a", [self.copy], 5.0, boxes, root, lambda: self.now, lambda: 1000.0 + self.now)

    def look(self, tokens: int | None, seconds: float = 5.0) -> None:
        """Seconds later, a look that brings so many tokens in all; None: one that fails."""
        self.now += seconds
        if tokens is None:
            self.copy.take(Look("refused", "connection refused", 0.1), self.now)
        else:
            page = BUSY.replace(b'vllm:generation_tokens_total{engine="0"', b"#").decode()
            page += f'vllm:generation_tokens_total{{engine="0",model_name="m"}} {tokens}\n'
            self.copy.take(Look(OK, "", 0.1, present(Reader().read(page.encode()))), self.now)
        self.watch.take(self.copy)

    def told(self) -> dict[str, object]:
        return dict(self.watch.document()["copies"][0])


def test_rates_of_a_real_page(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.look(100)
    assert stage.told()["generated_tokens_per_second"] is None
    stage.look(600)
    assert stage.told()["generated_tokens_per_second"] == 100.0
    assert stage.watch.document()["models"]["m"]["generated_tokens_per_second"] == 100.0


def test_what_it_remembers_is_small(tmp_path: Path) -> None:
    """A page is some 500 kB once it is read, and a minute has sixty."""
    stage = Stage(tmp_path)
    for tokens in range(20):
        stage.look(tokens)
    points = stage.watch._recent["m@a"].points
    assert len(points) == 13
    assert all(point.part.page == {} for point in points)


def test_a_look_that_fails_holds_for_a_while(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.look(0)
    stage.look(500)
    stage.look(None)
    assert (stage.told()["generated_tokens_per_second"], stage.told()["metrics"]) == (100.0, "connection refused")
    for _ in range(4):
        stage.look(None)
    assert stage.told()["generated_tokens_per_second"] is None


def test_the_last_hour_outlives_a_restart(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    paths.under(tmp_path, paths.METRICS_HOUR).parent.mkdir(parents=True)
    stage.look(0)
    stage.look(500)

    async def once() -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(stage.watch.run(stop))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        stop.set()
        await running

    asyncio.run(once())
    again = Stage(tmp_path).watch.hour()
    assert again == stage.watch.hour()
    assert again["series"]["copy:m@a"]["generated_tokens_per_second"][-1] == 100.0


def test_who_only_looks_on_keeps_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.watch._write()
    assert not paths.under(tmp_path, paths.METRICS_HOUR).exists()


def test_a_pool_that_reports_rubbish(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    paths.under(tmp_path, paths.POOL_STATE).write_text("[]")
    assert stage.watch.document()["warnings"] == ["floor-pool does not report: who serves is not known"]
