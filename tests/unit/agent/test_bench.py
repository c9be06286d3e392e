"""One level of a bench on a box: its order is read once, by root alone, and the key is never in it."""

from __future__ import annotations

import asyncio
import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.agent import bench
from floor.agent.call import Call
from floor.agent.calls import bench as calls
from floor.agent.params import Params
from floor.bench import drive
from floor.box import paths
from floor.errors import UsageError

ORDER: dict[str, Any] = {
    "url": "http://192.0.2.12:8000", "model": "m", "key": True, "at": 2, "seconds": 0.2, "open": False, "first": 0,
    "requests": [{"path": "/v1/completions", "body": {"prompt": "x", "max_tokens": 2}}],
}  # fmt: skip


def call(root: Path, **other: Any) -> Call:
    return Call(Params("bench.level", {**ORDER, **other}), root=root, stdin=io.BytesIO())


def test_the_order_is_a_file_of_roots_own(tmp_path: Path) -> None:
    stream = calls.level(call(tmp_path))
    assert stream.follow
    place = paths.under(tmp_path, Path(stream.argv[-1]))
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert json.loads(place.read_text()) == ORDER
    assert "prompt" not in " ".join(stream.argv)


@pytest.mark.parametrize("at", [0, 5000])
def test_an_absurd_level_is_refused(tmp_path: Path, at: float) -> None:
    with pytest.raises(UsageError, match=r"bench\.level: at: must be above 0 and at most 4096"):
        calls.level(call(tmp_path, at=at))


def test_half_a_request_is_none_but_a_rate(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"bench\.level: at: must be whole, but of an open loop"):
        calls.level(call(tmp_path, at=0.5))
    assert calls.level(call(tmp_path, at=0.5, open=True)).follow


STREAM = b"".join(
    f"data: {one}\n\n".encode()
    for one in (
        json.dumps({"choices": [{"text": "a"}]}),
        json.dumps({"choices": [{"text": "b"}], "usage": {"completion_tokens": 2, "prompt_tokens": 1}}),
        "[DONE]",
    )
)


def engine(monkeypatch: pytest.MonkeyPatch, seen: list[httpx.Request]) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, content=STREAM)

    real: Callable[..., httpx.AsyncClient] = httpx.AsyncClient

    def client(**words: Any) -> httpx.AsyncClient:
        words.pop("limits")
        return real(transport=httpx.MockTransport(answer), **words)

    monkeypatch.setattr(drive.httpx, "AsyncClient", client)


def test_it_is_read_once_and_measured_with_the_key_of_the_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[httpx.Request] = []
    engine(monkeypatch, seen)
    key = paths.under(tmp_path, paths.ENGINE_KEY)
    key.parent.mkdir(parents=True)
    key.write_text("the-engine-key-of-the-box\n")
    stream = calls.level(call(tmp_path))
    assert bench.main(["--root", str(tmp_path), stream.argv[-1]]) == 0
    assert not paths.under(tmp_path, Path(stream.argv[-1])).exists()
    level = json.loads(capsys.readouterr().out)["level"]
    assert (level["at"], level["errors"]) == (2, 0)
    assert level["requests"] == len(seen) > 2
    assert {request.headers["authorization"] for request in seen} == {"Bearer the-engine-key-of-the-box"}
    assert {json.loads(request.content)["model"] for request in seen} == {"m"}


def test_an_open_loop_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[httpx.Request] = []
    engine(monkeypatch, seen)
    level = asyncio.run(bench.measure({**ORDER, "open": True, "at": 200}, None))
    assert level.at == 200
    assert level.requests == len(seen) > 0
    assert "authorization" not in seen[0].headers
