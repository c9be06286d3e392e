"""One request and what came back, as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REFUSED, TIMED_OUT, BROKEN = "refused", "timed out", "broken off"


@dataclass(frozen=True)
class Exchange:
    """`request` is the JSON body that was sent. Without an answer `status` is None and `failure` says what happened.

    `arrivals` tells when bytes came: (seconds after the request was sent, length of the body by then).
    A stream that broke off has a status, the bytes until then, and a `failure`.
    """

    request: Mapping[str, Any]
    status: int | None
    body: bytes = b""
    content_type: str = ""
    arrivals: tuple[tuple[float, int], ...] = ()
    seconds: float = 0.0
    failure: str = ""

    @property
    def streamed(self) -> bool:
        return bool(self.request.get("stream"))

    @property
    def answered(self) -> bool:
        """Whether there is a whole answer of status 200."""
        return self.status == 200 and not self.failure

    def when(self, offset: int) -> float | None:
        """Seconds after the request when the body had reached `offset` bytes; None where that is not known."""
        return next((seconds for seconds, length in self.arrivals if length >= offset), None)

    @property
    def said(self) -> str:
        """In a few words, how it failed: "HTTP 500: text of the error", or "timed out after 30 s"."""
        if self.failure:
            return f"{self.failure} after {self.seconds:.0f} s"
        text = self.body[:300].decode("utf-8", "replace").strip()
        return f"HTTP {self.status}: {text}"
