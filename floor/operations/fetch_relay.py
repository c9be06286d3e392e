"""The hub for boxes that have no way to it: this machine asks, and passes on what comes, where nothing else is left."""

from __future__ import annotations

import hmac
import secrets
import threading
from contextlib import ExitStack, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from floor.apply import tunnel
from floor.box import hub as api
from floor.box import manifest
from floor.box.manifest import Origin
from floor.errors import FloorError
from floor.operations.site import Site

if TYPE_CHECKING:
    import httpx

    from floor.operations.fetch import Hub

PASSED = ("Content-Length", "Content-Range")


class Handler(BaseHTTPRequestHandler):
    """One connection of a box. It sees the files of one repository, with a token of its own; the hub's stays here."""

    protocol_version = "HTTP/1.1"
    client: httpx.Client
    hub: Hub
    origin: Origin
    authorization: str

    def do_HEAD(self) -> None:
        """Whether anybody is here: the addresses that a hub leads to are often signed for GET alone."""
        self._say(HTTPStatus.OK if self._may() else HTTPStatus.UNAUTHORIZED)

    def do_GET(self) -> None:
        import httpx

        if not self._may():
            return self._say(HTTPStatus.UNAUTHORIZED)
        asked = {**api.headers(self.hub.token), "Accept-Encoding": "identity"}
        if wanted := self.headers.get("Range"):
            asked["Range"] = wanted
        try:  # a path with `..` would lead to anything that the hub's token opens
            path = manifest.safe(unquote(self.path).lstrip("/"))
        except FloorError:
            return self._say(HTTPStatus.NOT_FOUND)
        url = api.file_url(self.hub.endpoint, self.origin, path)
        self.close_connection = True
        begun = False
        try:
            with self.client.stream("GET", url, headers=asked) as answer:
                self.send_response(answer.status_code)
                begun = True
                for name in PASSED:
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                self.send_header("Connection", "close")
                self.end_headers()
                for block in answer.iter_raw():
                    self.wfile.write(block)
        except httpx.HTTPError:
            if not begun:
                self._say(HTTPStatus.BAD_GATEWAY)
        except OSError:  # the box went away, and comes back for the rest
            return None
        return None

    def _may(self) -> bool:
        given = self.headers.get("Authorization") or ""
        return hmac.compare_digest(given.encode(), self.authorization.encode())

    def _say(self, status: HTTPStatus) -> None:
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the standard library's name
        """Nothing: the box counts what comes."""


class Relay:
    """Servers on this machine's loopback, each carried to a box by ssh. `close` ends them."""

    def __init__(self, site: Site, hub: Hub) -> None:
        self.site, self.hub = site, hub
        self._open = ExitStack()

    def url(self, box: str, origin: Origin) -> tuple[str, str]:
        """Return where a box finds the files of a repository, and the token that is asked for. Raises BoxError."""
        import httpx

        token = secrets.token_urlsafe(32)
        client = self._open.enter_context(httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0)))
        values = {"client": client, "hub": self.hub, "origin": origin, "authorization": f"Bearer {token}"}
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), values))
        server.daemon_threads = True
        self._open.callback(server.server_close)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        self._open.callback(server.shutdown)
        destination = self.site.loaded.config.destination(box)
        port = self._open.enter_context(tunnel.reverse(box, destination, int(server.server_address[1])))
        return f"http://127.0.0.1:{port}", token

    def close(self) -> None:
        """End all of it."""
        self._open.close()
