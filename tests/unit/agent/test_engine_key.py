"""Which key an engine takes while one is being replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.agent import engine_key
from floor.box import paths

OLD, NEW = "the-old-key-of-the-engine", "the-new-key-of-the-engine"
URL = "http://192.0.2.12:8000"


def put(root: Path, *keys: str) -> None:
    for path, key in zip((paths.ENGINE_KEY, paths.ENGINE_NEXT), keys, strict=False):
        place = paths.under(root, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{key}\n")


def engine(monkeypatch: pytest.MonkeyPatch, key: str | None) -> list[str]:
    """An engine that takes `key`; None: nobody listens. Return what it is asked with."""
    asked: list[str] = []

    def get(url: str, **words: Any) -> httpx.Response:
        assert url == f"{URL}/v1/models"
        asked.append(words["headers"]["Authorization"].removeprefix("Bearer "))
        if key is None:
            raise httpx.ConnectError("refused")
        return httpx.Response(200 if asked[-1] == key else 401)

    monkeypatch.setattr(engine_key.httpx, "get", get)
    return asked


@pytest.mark.parametrize(
    ("takes", "found", "asked"), [(OLD, OLD, [OLD]), (NEW, NEW, [OLD, NEW]), (None, OLD, [OLD]), ("?", OLD, [OLD, NEW])]
)
def test_of_two_it_is_the_one_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: str | None, found: str, asked: list[str]
) -> None:
    put(tmp_path, OLD, NEW)
    told = engine(monkeypatch, takes)
    assert (engine_key.taken(URL, tmp_path), told) == (found, asked)


def test_a_single_one_and_none_need_no_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = engine(monkeypatch, None)
    assert engine_key.taken(URL, tmp_path) == ""
    put(tmp_path, OLD)
    assert (engine_key.taken(URL, tmp_path), told) == (OLD, [])
