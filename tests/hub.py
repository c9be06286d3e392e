"""A Hugging Face hub on a port of its own: real HTTP with ranges, redirects, gates, and what goes wrong on the way.

`python -m tests.hub ADDRESS PORT SIZE PACE` serves one made and gated repository, for the lab.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

REVISION = "3f9c1e6a0b7d5284c6e1f0a9b8d7c6e5f4a3b2c1"
REPO = "org/flagship"
TOKEN = "hf_a-token-that-no-log-may-hold"
LARGE = 4096  # bytes from which a file is in LFS here
BLOCK = 16384


def made(seed: int = 1, sizes: tuple[int, ...] = (300_000, 120_000, 70_000)) -> dict[str, bytes]:
    """A repository with weights of these sizes, a small file, one in a folder, and one that few want."""
    chance = random.Random(seed)  # noqa: S311 -- the same each time
    count = len(sizes)
    files = {f"model-{n + 1:05}-of-{count:05}.safetensors": chance.randbytes(size) for n, size in enumerate(sizes)}
    return {**files, "config.json": b'{"architectures": []}\n', "sub/tokenizer.json": b"{}\n", "README.md": b"# hi\n"}


@dataclass
class Faults:
    """What goes wrong. Each entry of `cuts` ends one answer after so many bytes of its body."""

    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)  # answered to the next requests of files
    ranges: bool = True  # False: Range is ignored
    damaged: dict[str, int] = field(default_factory=dict)  # path -> how often it comes with a wrong byte
    stall: float = 0.0  # seconds of silence in the middle of the next answer
    pace: float = 0.0  # seconds before each block


@dataclass
class Hub:
    """`files` by path, `gated` asks for `token`; `asked` are the requests as (path, range)."""

    files: dict[str, bytes] = field(default_factory=made)
    repo: str = REPO
    gated: bool = False
    token: str = TOKEN
    names: dict[str, str] = field(default_factory=lambda: {"main": REVISION, "v1.0": REVISION})
    faults: Faults = field(default_factory=Faults)
    asked: list[tuple[str, str]] = field(default_factory=list)
    sent: int = 0
    address: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def __enter__(self) -> Self:
        kind = type("Bound", (Handler,), {"hub": self})
        self.server = Server((self.address, self.port), kind)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def listing(self) -> dict[str, Any]:
        """As the API answers with blobs=true."""
        return {
            "id": self.repo,
            "sha": REVISION,
            "siblings": [_sibling(path, data) for path, data in self.files.items()],
        }


def _sibling(path: str, data: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()
    lfs = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
    return {"rfilename": path, "size": len(data), "blobId": blob, **({"lfs": lfs} if len(data) >= LARGE else {})}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that was killed is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_GET(self) -> None:
        path, _, _ = self.path.partition("?")
        api = re.fullmatch(rf"/api/models/({self.hub.repo})/revision/(.+)", path)
        file = re.fullmatch(rf"/({self.hub.repo})/resolve/([^/]+)/(.+)", path)
        bucket = re.fullmatch(r"/bucket/(.+)", path)
        if bucket:
            return self._file(bucket[1])  # as a redirect to other storage: no token comes along
        if not (api or file):
            return self._error(404, "RepoNotFound") if "/resolve/" in path else self._error(401, "RepoNotFound")
        if self.hub.gated and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            return self._error(401, "GatedRepo")
        revision = (api or file)[2]  # type: ignore[index]
        if self.hub.names.get(revision, revision) != REVISION:
            return self._error(404, "RevisionNotFound")
        if api:
            return self._json(self.hub.listing())
        assert file
        if len(self.hub.files.get(file[3], b"")) >= LARGE:
            self.send_response(302)
            self.send_header("Location", f"/bucket/{file[3]}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        return self._file(file[3])

    def _file(self, path: str) -> None:
        hub, faults = self.hub, self.hub.faults
        with hub.lock:
            hub.asked.append((path, self.headers.get("Range") or ""))
            status = faults.statuses.pop(0) if faults.statuses else 0
            cut = faults.cuts.pop(0) if faults.cuts else None
            damaged = faults.damaged.get(path, 0) > 0
            if damaged:
                faults.damaged[path] -= 1
            stall, faults.stall = faults.stall, 0.0
        if status:
            return self._error(status, "")
        data = hub.files.get(path)
        if data is None:
            return self._error(404, "EntryNotFound")
        if damaged:
            data = data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "") if faults.ranges else None
        start = int(found[1]) if found else 0
        if found and start >= len(data):
            return self._error(416, "")
        self.send_response(206 if found else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        if found:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        return self._body(data[start:], cut, stall)

    def _body(self, data: bytes, cut: int | None, stall: float) -> None:
        whole = data if cut is None else data[:cut]
        for at in range(0, len(whole), BLOCK):
            time.sleep(self.hub.faults.pace)
            block = whole[at : at + BLOCK]
            self.wfile.write(block)
            with self.hub.lock:
                self.hub.sent += len(block)
            if stall:
                self.wfile.flush()
                time.sleep(stall)
                stall = 0.0
        if len(whole) < len(data):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def _json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _error(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: `asked` has it."""


if __name__ == "__main__":
    size = int(sys.argv[3])
    hub = Hub(files=made(2, (size, size // 2, size // 2)), gated=True, address=sys.argv[1], port=int(sys.argv[2]))
    hub.faults.pace = float(sys.argv[4])
    with hub:
        print(json.dumps(hub.listing()), flush=True)
        threading.Event().wait()
