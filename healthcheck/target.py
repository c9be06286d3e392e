"""Which backend is asked, and what is expected of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from floor.errors import FloorError

from .dialects import find


def base_url(text: str) -> str:
    """Given what a person wrote as an engine's address, return scheme, host and port alone, without a slash at the end.

    A trailing `/` or `/v1` is taken off: it is what OpenAI clients are given. Raise FloorError if it cannot be meant.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise FloorError(
            f"{text!r}: not a URL ({error}); write http://HOST:PORT, an IPv6 address in brackets"
        ) from error
    if parts.username is not None or parts.password is not None:
        raise FloorError("the URL holds a user name or password; give the engine key in a file instead")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise FloorError(f"{text!r}: not an engine's address; write http://HOST:PORT")
    if parts.query or parts.fragment or parts.path.rstrip("/") not in ("", "/v1"):
        raise FloorError(f"{text!r}: has more than an address; write http://HOST:PORT, floor adds the paths itself")
    if not parts.netloc.isascii() or any(c.isspace() or not c.isprintable() for c in parts.netloc) or port == 0:
        raise FloorError(f"{text!r}: not an engine's address; write http://HOST:PORT")
    return f"{parts.scheme}://{parts.netloc}"


GENERATE, EMBED = TASKS = ("generate", "embed")


@dataclass(frozen=True)
class Target:
    """One backend, asked directly and never through the proxy.

    `model` is the served name that it must list. `key` is a bearer key and never shown. `stall` is the seconds without
    any progress while busy, or without any answer, before it counts as hung. `probe_timeout` bounds one look, seconds.
    `min_speed` (tokens/s of a generation probe) is what it must reach not to be degraded.
    `task`: generate, or embed where it answers in vectors. Raise FloorError if unusable.
    """

    name: str
    url: str
    model: str
    dialect: str = "vllm"
    key: str | None = field(default=None, repr=False)
    stall: float = 120.0
    probe_timeout: float = 2.0
    min_speed: float | None = None
    task: str = GENERATE

    def __post_init__(self) -> None:
        find(self.dialect)
        if self.task not in TASKS:
            raise FloorError(f"{self.name}: unknown task {self.task!r}; known: {', '.join(TASKS)}")
        if self.embeds:
            object.__setattr__(self, "min_speed", None)  # it makes no tokens
        object.__setattr__(self, "url", base_url(self.url))
        if self.key is not None and not (
            self.key.isascii() and self.key.isprintable() and self.key.strip() == self.key
        ):
            raise FloorError(
                f"{self.name}: the engine key must be one line of ASCII characters without spaces around it"
            )
        limits = {"stall": self.stall, "probe_timeout": self.probe_timeout, "min_speed": self.min_speed}
        for what, value in limits.items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise FloorError(f"{self.name}: {what} is {value}; write a number above 0")

    @property
    def embeds(self) -> bool:
        """It is asked for an embedding where others are asked for a token."""
        return self.task == EMBED
