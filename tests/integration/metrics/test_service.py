"""The service with real sockets: whatever a target does costs that target alone."""

from __future__ import annotations

import asyncio
import gc
import resource
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from floor.box import paths
from floor.metrics import service
from tests.integration.metrics.conftest import BUSY, CASES, answers, sends
from tests.metrics_page import check

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
GARBAGE = {
    "html": (answers(b"<html>502</html>", "502 Bad Gateway"), "http_502"),
    "json": (answers(b'{"detail": "no"}'), "unreadable"),
    "quoted": (answers(b'"# TYPE a gauge\\na 1\\n"'), "unreadable"),
    "off": (answers(b'{"error": {"code": 501}}', "501 Not Implemented"), "http_501"),
    "endless": (sends(HEAD, b"a 1\n" * 4096), "too_long"),
    "drip": (sends(HEAD, b"a", every=0.05), "timed_out"),
    "huge": (answers(b"x" * 100_000_000), "too_long"),
    "silent": (sends(b"", b"", 0), "dropped"),
}
# Pages that can be read, and would spoil the one that all are on: figures that cannot be added, a label twice.
ODD = b"""# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} +Inf
vllm:num_requests_running{engine="1",copy="x",exported_copy="y"} -Inf
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total 1e308
"""


def value(page: str, name: str, box: str | None = None) -> float | None:
    for (found, labels), number in check(page).items():
        if found == name and (box is None or ("box", box) in labels):
            return number
    return None


def test_garbage_costs_only_itself(stage: Any) -> None:
    does = {name: serve for name, (serve, _) in GARBAGE.items()} | {"good": answers(BUSY)}

    async def run() -> None:
        async with stage(does, interval=1.0) as running:
            page = await running.until(
                lambda page: all(
                    f'box="{name}",copy="m@{name}",model="m",reason="{why}"}} 1.0' in page
                    for name, (_, why) in GARBAGE.items()
                )
            )
            assert value(page, "floor_target_up", "good") == 1
            assert value(page, "floor_model_generated_tokens_total") == 2971
            assert {value(page, "floor_target_up", name) for name in GARBAGE} == {0}
            # While all of them are being asked again, the page is there at once.
            for _ in range(10):
                status, _, seconds = await running.get()
                assert status == 200
                assert seconds < 2
                await asyncio.sleep(0.1)
            assert any("m@html: metrics cannot be read: GET /metrics answered 502" in line for line in running.said)

    asyncio.run(run())


def test_odd_figures_cost_only_who_tells_them(stage: Any) -> None:
    async def run() -> None:
        async with stage(
            {"odd": answers(ODD), "names": answers(b'{"models": [{"name": 5}]}'), "good": answers(BUSY)},
            dialects={"names": "ollama"},
        ) as running:
            page = await running.until(lambda page: page.count('reason="ok"} 1.0') == 3)
            assert value(page, "floor_model_generated_tokens_total") == 2971
            assert value(page, "floor_copy_requests_running", "good") == 4

    asyncio.run(run())


def test_a_copy_that_dies_and_returns(stage: Any, tmp_path: Path) -> None:
    """Its counters hold while it is away, go on when it returns, and outlive a restart of the service."""
    does = {"a": answers(BUSY), "b": answers(BUSY)}
    started = b"process_start_time_seconds 1.79600774693e+09"
    assert started in BUSY

    async def run() -> None:
        async with stage(does) as running:
            await running.until(lambda page: value(page, "floor_model_generated_tokens_total") == 2 * 2971)
            does["a"] = sends(b"")
            page = await running.until(lambda page: value(page, "floor_target_up", "a") == 0)
            assert value(page, "floor_model_generated_tokens_total") == 2 * 2971
            does["a"] = answers(BUSY.replace(started, b"process_start_time_seconds 1.8e+09"))
            page = await running.until(lambda page: value(page, "floor_target_restarts_total", "a") == 1)
            assert value(page, "floor_model_generated_tokens_total") == 3 * 2971
        async with stage(does) as running:
            page = await running.until(lambda page: value(page, "floor_target_up", "b") == 1)
            assert value(page, "floor_model_generated_tokens_total") == 3 * 2971

    asyncio.run(run())


def test_what_cannot_be_kept_is_said_and_served_all_the_same(
    stage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full /run must not take the page away, nor begin its counters from an older record each minute."""
    monkeypatch.setattr(service, "KEEP_EVERY", 0.1)
    monkeypatch.setattr(service, "ALIVE_EVERY", 0.05)
    place = paths.under(tmp_path, paths.METRICS_STATE)
    (place / "in-the-way").mkdir(parents=True)

    async def run() -> None:
        async with stage({"a": answers(BUSY)}) as running:
            told = lambda: [line for line in running.said if "would count from an older record" in line]  # noqa: E731
            page = await running.until(lambda page: bool(told()) and value(page, "floor_target_up", "a") == 1)
            await asyncio.sleep(0.5)  # some rounds more: it is said once
            assert len(told()) == 1
            assert value(page, "floor_model_generated_tokens_total") == 2971
            (place / "in-the-way").rmdir()
            place.rmdir()
            await running.until(lambda _: place.is_file())

    asyncio.run(run())


def test_an_engine_that_takes_the_next_key_already(stage: Any) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body, status = (BUSY, "200 OK") if b"Bearer new" in head else (b"{}", "401 Unauthorized")
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)

    async def run() -> None:
        async with stage({"a": serve}, keys=("old", "new")) as running:
            await running.until(lambda page: value(page, "floor_target_up", "a") == 1)

    asyncio.run(run())


def test_the_port(stage: Any) -> None:
    async def run() -> None:
        async with stage({"a": answers(BUSY)}) as running:
            await running.until(lambda page: value(page, "floor_target_up", "a") == 1)
            ours = check((await running.get("/metrics/floor"))[1].decode())
            assert all(name.startswith("floor_") and ":" not in name for name, _ in ours)
            assert (await running.get("/metrics?x=1"))[0] == 200
            assert (await running.get("/other"))[:2] == (404, b"there is /metrics, /metrics/floor\n")
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            writer.write(b"POST /metrics HTTP/1.1\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 405 ")
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            writer.write(b"hello\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
            writer.close()

    asyncio.run(run())


def test_requests_and_cards_of_this_box(stage: Any) -> None:
    """What commands of the box print goes onto the page: the journal's lines, and nvidia-smi's."""
    line = '{"model":"m","status":200,"seconds":1.5,"upstream":"","header":""}'
    cards = ("printf", "0, 50, [N/A], [N/A], 40, 10\n")

    async def run() -> None:
        async with stage({"a": answers(BUSY)}, journal=("printf", line + "\n"), gpus=cards) as running:
            page = await running.until(lambda page: "floor_gpu_utilization_ratio" in page and "floor_proxy" in page)
            assert 'floor_gpu_utilization_ratio{box="here",gpu="0"} 0.5' in page
            await running.until(lambda page: 'floor_proxy_requests_total{copy="",model="m",status="200"} 1.0' in page)

    asyncio.run(run())


def test_sixty_four_targets(stage: Any) -> None:
    """A page of all of them takes no more than a second of one core, and memory stays bounded."""
    llama = (CASES / "llamacpp" / "metrics_busy.txt").read_bytes()
    does = {f"b{number}": answers(BUSY) for number in range(62)} | {f"l{number}": answers(llama) for number in range(2)}
    dialects = {name: "llamacpp" for name in does if name.startswith("l")}

    async def run() -> None:
        async with stage(does, interval=5.0, dialects=dialects) as running:
            page = await running.until(lambda page: page.count('reason="ok"} 1.0') == 64)
            assert value(page, "floor_model_generated_tokens_total") == 62 * 2971 + 2 * 24
            assert value(page, "floor_sum:vllm:generation_tokens_total") == 62 * 2971
            spent = []
            for _ in range(3):
                running.service._news += 1
                began = time.process_time()
                running.service.page()
                spent.append(time.process_time() - began)
            print(f"64 targets: a page of {len(page)} bytes in {min(spent):.3f} s of one core")
            assert min(spent) < 2
            gc.collect()
            tracemalloc.start()
            for _ in range(3):
                running.service._news += 1
                running.service.page()
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"memory for a page beyond what is kept: {peak / 1e6:.0f} MB; the whole process {whole} MB")
            assert peak < 100e6

    asyncio.run(run())
