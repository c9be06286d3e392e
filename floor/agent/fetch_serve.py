"""Gives the files of one folder to other boxes for as long as they take them: one token, GET and HEAD, ranges.

Plain HTTP, as between proxy and engine: what arrives is believed for its sha256 alone, which came over ssh.
"""

from __future__ import annotations

import errno
import hmac
import os
import re
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from floor.box.report import Report
from floor.errors import FloorError

PORT = 8098  # beside the status port; another one that is free where it is taken
IDLE = 600.0  # seconds without a request after which nobody wants anything any more
STALLED = 60.0  # seconds that a box may take none of what it asked for
RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class Served:
    """What may be had, who may have it, and when somebody last had something."""

    def __init__(self, folder: Path, paths: Sequence[str], token: str, report: Report) -> None:
        self.folder, self.paths, self.report = folder, frozenset(paths), report
        self.authorization = f"Bearer {token}"
        self._busy, self._last, self._lock = 0, time.monotonic(), threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._busy += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._busy -= 1
            self._last = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since anybody had anything."""
        with self._lock:
            return 0.0 if self._busy else time.monotonic() - self._last


class Handler(BaseHTTPRequestHandler):
    """One connection of another box."""

    protocol_version = "HTTP/1.1"
    timeout = STALLED
    served: Served

    def do_HEAD(self) -> None:
        self._admit(body=False)

    def do_GET(self) -> None:
        self._admit(body=True)

    def _admit(self, *, body: bool) -> None:
        """Answer whoever has the token; nobody else keeps this server up."""
        given = self.headers.get("Authorization") or ""
        if not hmac.compare_digest(given.encode(), self.served.authorization.encode()):
            return self._refuse(HTTPStatus.UNAUTHORIZED)
        with self.served:
            return self._answer(body=body)

    def _answer(self, *, body: bool) -> None:
        path = unquote(self.path).lstrip("/")
        if path not in self.served.paths:
            return self._refuse(HTTPStatus.NOT_FOUND)
        with (self.served.folder / path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            found = RANGE.fullmatch(self.headers.get("Range") or "")
            start = int(found[1]) if found else 0
            end = min(size, int(found[2]) + 1) if found and found[2] else size
            if start > end or (found and start == size):
                return self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            self.send_response(HTTPStatus.PARTIAL_CONTENT if found else HTTPStatus.OK)
            self.send_header("Content-Length", str(end - start))
            if found:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
            self.end_headers()
            self.wfile.flush()
            if body:
                self._send(file, start, end - start)
        return None

    def _send(self, file: Any, start: int, count: int) -> None:
        """From the page cache to the network, without a copy through here."""
        before, self.close_connection = self.close_connection, True
        with suppress(OSError):  # the other box went away, and comes back for the rest
            self.connection.sendfile(file, start, count)
            self.served.report.add(count)
            self.close_connection = before

    def _refuse(self, status: HTTPStatus) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the standard library's name
        """Nothing: what was taken is counted."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: Any) -> None:
        """A connection that broke is no news."""


class Server6(Server):
    address_family = socket.AF_INET6


def serve(
    folder: Path, paths: Sequence[str], addresses: Sequence[str], token: str, report: Report, over: threading.Event
) -> int:
    """Give `paths` of `folder` to whoever has the token, on those of `addresses` that this box has.

    The port is told in the report. Return the bytes that were taken, once nobody has asked for anything for a while, or
    when it is `over`. Raises FloorError where it can listen nowhere.
    """
    served = Served(folder, paths, token, report)
    kind = type("Bound", (Handler,), {"served": served})
    servers = _listen(addresses, kind)
    threads = [threading.Thread(target=one.serve_forever, daemon=True) for one in servers]
    for thread in threads:
        thread.start()
    where = [list(one.server_address[:2]) for one in servers]
    report.show(listening=where)
    while served.idle < IDLE and not over.wait(0.5):
        pass
    for one in servers:
        one.shutdown()
        one.server_close()
    return report.done


def _listen(addresses: Sequence[str], kind: type[Handler]) -> list[Server]:
    """One port for all addresses, so that a firewall has one rule."""
    found, why = list[Server](), ""
    for port in (PORT, 0):
        for address in addresses:
            chosen = found[0].server_address[1] if found else port
            try:
                found.append((Server6 if ":" in address else Server)((address, chosen), kind))
            except OSError as error:  # an address of a link that is down, or a port that is taken
                why = f"{address}: {os.strerror(error.errno or errno.EADDRNOTAVAIL)}"
        if found:
            return found
    raise FloorError(f"cannot listen on {', '.join(addresses)} ({why}); is `fabric.address` an address of this box?")
