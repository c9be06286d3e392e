"""One GET of a status port or an engine, with nothing but the standard library: what asks must start at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

ASK_TIMEOUT = 2.0  # seconds to connect, and again for each piece of an answer; it takes milliseconds
_MOST = 2 * 1024 * 1024  # bytes of an answer

Get = Callable[[str, str | None], bytes]


class MuteError(OSError):
    """Somebody is there, and gives no proper answer."""


class StrangerError(MuteError):
    """The key is not taken there."""


def get(url: str, key: str | None) -> bytes:
    """Return the body of a GET. Raise OSError where there is no proper answer with status 200: MuteError where there
    was a connection."""
    parts = urlsplit(url)
    way = HTTPConnection(parts.hostname or "", parts.port or 80, timeout=ASK_TIMEOUT)
    try:
        way.connect()
        try:
            way.request("GET", parts.path or "/", headers={"Authorization": f"Bearer {key}"} if key else {})
            answer = way.getresponse()
            body = answer.read(_MOST)
        except (HTTPException, OSError) as error:
            raise MuteError(f"{url}: {error!r}") from error
    finally:
        way.close()
    if answer.status in (401, 403):
        raise StrangerError(f"{url}: answers {answer.status}")
    if answer.status != 200:
        raise MuteError(f"{url}: answers {answer.status}")
    return body


def either(following: Mapping[str, str], get: Get = get) -> Get:
    """Given the key that follows each one, return what asks as `get` does, and again with that where one is not taken:
    while a key is being replaced some processes know the present one, some the next."""

    def ask(url: str, key: str | None) -> bytes:
        try:
            return get(url, key)
        except StrangerError:
            if key is None or key not in following:
                raise
            return get(url, following[key])

    return ask
