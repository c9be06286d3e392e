"""What the status port answers: one GET, one key, one JSON object."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

from floor.box import http_port
from floor.box.http_port import Reply
from floor.errors import FloorError

HEAD_LIMIT = 8192  # bytes of a request's head; ours has 150
ANSWER_TIME = 15.0  # seconds for the answer to be made and taken
MOST = 64  # connections at once; each proxy has one


class Source(Protocol):
    """Where the answer comes from; `now` raises FloorError if it cannot be had."""

    def now(self) -> Awaitable[dict[str, Any]]: ...


class Port(http_port.Port):
    """Given the keys of which one is asked for (none empty) and the sources of the answers: of /status, and by path of
    what else there is."""

    head_limit = HEAD_LIMIT

    def __init__(self, keys: tuple[str, ...], source: Source, more: Mapping[str, Source] | None = None) -> None:
        super().__init__(MOST, ANSWER_TIME)
        self._keys = [b"Bearer " + key.encode() for key in keys]
        self._sources = {"/status": source, **(more or {})}

    async def reply(self, method: bytes, path: str, fields: Sequence[bytes]) -> Reply:
        status, document = await self._told(method, path, fields)
        return status, "application/json", json.dumps(document).encode()

    async def _told(self, method: bytes, path: str, fields: Sequence[bytes]) -> tuple[int, dict[str, Any]]:
        if not method:
            return 400, {"error": "not an HTTP request"}
        # The key first: who does not have it learns nothing, not even what there is.
        given = _key(fields)
        if not any([hmac.compare_digest(given, key) for key in self._keys]):  # noqa: C419 -- all: as long for each
            return 401, {"error": "the status key is asked for: Authorization: Bearer KEY"}
        if method != b"GET":
            return 405, {"error": "this port is read-only: GET /status"}
        source = self._sources.get(path)
        if source is None:
            return 404, {"error": f"there is GET {' and '.join(self._sources)}"}
        try:
            return 200, await source.now()
        except FloorError as error:
            return 503, {"error": str(error)}


def _key(fields: Sequence[bytes]) -> bytes:
    for field in fields:
        name, _, value = field.partition(b":")
        if name.lower() == b"authorization":
            return value.strip()
    return b""
