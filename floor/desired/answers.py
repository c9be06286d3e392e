"""What the proxy answers by itself, in the shape that OpenAI's clients read."""

from __future__ import annotations

import json
from dataclasses import dataclass

# Share of the requests and seconds to wait, in nginx's split_clients; `*` is what is left. At most 60: OpenAI's
# clients ignore a longer Retry-After.
RETRY_AFTER = (*(("11%", seconds) for seconds in range(2, 10)), ("*", 10))
RETRY_HEADER = ("Retry-After", "$floor_retry_after")
CHALLENGE = ("WWW-Authenticate", "Bearer")
STRANGER = "No valid API key came with the request. Send yours as `Authorization: Bearer KEY` (or X-Api-Key)."


@dataclass(frozen=True)
class Answer:
    """nginx found one of `found` and answers `status` with `body` and `headers`; `name` is the location that does.

    `parsed` tells whether there is a path by then: nginx goes to a named location only with one (else: 500), and then
    its log keeps that path.
    """

    found: str
    name: str
    status: int
    body: str
    headers: tuple[tuple[str, str], ...] = ()
    parsed: bool = True

    @property
    def target(self) -> str:
        """Where error_page sends the request."""
        return f"@{self.name}" if self.parsed else f"/floor/{self.name}"


def error(status: int, kind: str, message: str) -> str:
    """Given a status, OpenAI's word for the kind of error and a message, return the body."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": status}})


def unavailable() -> str:
    """The body where no copy can answer, for the stand-in of an empty pool and for nginx's own 502 and 504 alike."""
    message = "No copy of this model can answer now. Retry after the seconds in Retry-After."
    return error(503, "service_unavailable_error", message)


def healthy() -> str:
    """The body for whoever asks after the proxy itself."""
    return json.dumps({"proxy": "up"})


def errors(max_body: int, *, clients: bool = False, tls: bool = False) -> list[Answer]:
    """Given the largest request in bytes, whether clients need a key and whether the port speaks https, return every
    answer that nginx gives instead of a page of its own."""
    limit = f"The request is larger than {size(max_body)}, the limit of this proxy (proxy.max_body in floor.yaml)."
    unknown = "There is no such path here. This proxy serves the inference API (/v1/…) and GET /v1/models."
    method = "This path does not take that method. The Allow header names those that it takes."
    malformed = "The request cannot be read: its first line or a header is malformed or too long."
    kind = "invalid_request_error"
    more = [Answer("401", "stranger", 401, error(401, kind, STRANGER), (CHALLENGE,))] if clients else []
    if tls:  # by then nothing is parsed
        more.append(Answer("497", "plain", 400, error(400, kind, "This port speaks https."), parsed=False))
    return [
        *more,
        Answer("400 494 501", "malformed", 400, error(400, kind, malformed), parsed=False),
        Answer("414", "long", 414, error(414, kind, "The path is too long."), parsed=False),
        Answer("404", "unknown", 404, error(404, kind, unknown)),
        Answer("405", "method", 405, error(405, kind, method), (("Allow", "$floor_allow"),)),
        Answer("408", "late", 408, error(408, kind, "The request did not arrive in time.")),
        Answer("413", "large", 413, error(413, kind, limit)),
        Answer(
            "500", "broken", 500, error(500, "server_error", "The proxy could not handle the request; see its log.")
        ),
        Answer("502 504", "unavailable", 503, unavailable(), (RETRY_HEADER,)),
    ]


def size(count: int) -> str:
    """Given bytes, return them as floor.yaml writes sizes, without rounding."""
    for unit, bytes_ in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count % bytes_ == 0:
            return f"{count // bytes_} {unit}"
    return f"{count} bytes"
