"""A box that gives weights to others: to whoever has the token, the files of the manifest, and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from floor.agent import fetch_serve
from floor.box.report import Report
from floor.errors import FloorError


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    """A box's server, and a client with its token."""
    (tmp_path / "m" / "sub").mkdir(parents=True)
    (tmp_path / "m" / "sub" / "a b").write_bytes(b"0123456789")
    (tmp_path / "m" / "secret").write_bytes(b"not in the manifest")
    report, over = Report(tmp_path / "state.json", ""), threading.Event()
    given = tmp_path / "m", ["sub/a b"], ["203.0.113.9", "127.0.0.6"], "token", report, over
    thread = threading.Thread(target=fetch_serve.serve, args=given)
    with report:
        thread.start()
        while not (found := report._result.get("listening")):
            time.sleep(0.01)
        [(host, port)] = found  # this machine does not have the other address
        with httpx.Client(base_url=f"http://{host}:{port}", headers={"Authorization": "Bearer token"}) as client:
            yield client
        over.set()
        thread.join()
    assert report.done == 10 + 7


def test_the_files_of_the_manifest_in_ranges_and_nothing_else(client: httpx.Client) -> None:
    whole = client.get("/sub/a%20b")
    assert (whole.status_code, whole.content) == (200, b"0123456789")
    rest = client.get("/sub/a%20b", headers={"Range": "bytes=3-"})
    assert (rest.status_code, rest.content, rest.headers["Content-Range"]) == (206, b"3456789", "bytes 3-9/10")
    assert client.head("/sub/a%20b").headers["Content-Length"] == "10"
    assert client.get("/sub/a%20b", headers={"Range": "bytes=10-"}).status_code == 416
    for path in ("/secret", "/", "/sub", "/sub/../secret", "/..%2fsecret", "/etc/passwd"):
        assert client.get(path).status_code == 404
    for token in ("", "Bearer other", "token", "Bearer t\xf6k"):
        assert client.get("/sub/a%20b", headers={"Authorization": token.encode("latin-1")}).status_code == 401
    assert client.post("/sub/a%20b").status_code == 501


def test_addresses_that_the_box_does_not_have(tmp_path: Path) -> None:
    report = Report(tmp_path / "state.json", "")
    with pytest.raises(FloorError, match=r"cannot listen on 203\.0\.113\.9 \(.*\); is `fabric\.address`"):
        fetch_serve.serve(tmp_path, [], ["203.0.113.9"], "token", report, threading.Event())
