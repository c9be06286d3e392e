"""The pages that are served, and how: GET alone, without a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from floor.box import http_port
from floor.box.http_port import Reply

HEAD_LIMIT = 16384  # bytes of a request's head; Prometheus sends 400
ANSWER_TIME = 10.0  # seconds for the answer to be taken; Prometheus gives up after 10 by default
MOST = 32  # connections at once

Pages = Mapping[str, tuple[str, Callable[[], bytes]]]
"""Path → its content type, and what makes the page."""


class Port(http_port.Port):
    """Given the pages that there are, and how many connections may be open at once."""

    head_limit = HEAD_LIMIT

    def __init__(self, pages: Pages, most: int = MOST) -> None:
        super().__init__(most, ANSWER_TIME)
        self._pages = pages

    async def reply(self, method: bytes, path: str, _fields: Sequence[bytes]) -> Reply:
        if not method:
            return 400, "text/plain", b"not an HTTP request\n"
        if method != b"GET":
            return 405, "text/plain", b"this port is read-only\n"
        page = self._pages.get(path.partition("?")[0])
        if page is None:
            return 404, "text/plain", f"there is {', '.join(self._pages)}\n".encode()
        kind, make = page
        return 200, kind, make()
