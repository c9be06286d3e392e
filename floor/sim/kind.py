"""What differs between the engines that are simulated, beside their routes' own answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from floor.sim.exchange import Exchange, Headers, Reply
from floor.sim.refusals import Refusal
from floor.sim.routes import Route
from floor.sim.settings import Settings


def _as_they_are(status: int, headers: Headers) -> Headers:  # noqa: ARG001  # as a Kind has it
    return headers


@dataclass(frozen=True)
class Kind:
    """One kind of engine. `find` gives (a route's name, the route) for a path.

    `keyed` tells whether a path wants the key, `refused` how a refusal is worded, `forbids` which clients get a 403,
    `dress` which headers an answer has,
    `banner` whether uvicorn's own are among them. `drains`: it finishes what it has after a SIGTERM, if it is to.
    """

    find: Callable[[str, Settings], tuple[str, Route] | None]
    keyed: Callable[[str], bool]
    unauthorized: Reply
    unknown: Reply
    refused: Callable[[Refusal], Reply]
    forbids: Callable[[Exchange, Settings], bool] = lambda exchange, settings: False  # noqa: ARG005
    dress: Callable[[int, Headers], Headers] = _as_they_are
    banner: bool = True
    drains: bool = True
