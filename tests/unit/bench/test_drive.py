"""A level against an engine that does not end."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import httpx
import pytest

from floor.bench import drive
from floor.bench.traffic import Request


def test_an_answer_without_end_does_not_hold_up_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that repeats itself for ever sends a byte now and then: it is never silent."""

    async def forever(*_given: Any, **_more: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(drive, "ask", forever)
    monkeypatch.setattr(drive, "PATIENCE", 0.05)

    async def run() -> Any:
        async with httpx.AsyncClient() as client:
            requests, numbers = [Request("/v1/completions", {"prompt": "x"})], itertools.count()
            return await drive.level(client, "http://h", "m", requests, 2, 0.05, open_loop=False, numbers=numbers)

    found = asyncio.run(run())
    assert (found.at, found.requests, found.errors) == (2, 2, 2)
    assert found.error == "no end of the answer after 0 s"
