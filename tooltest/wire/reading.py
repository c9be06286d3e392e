"""An exchange as an answer, streamed or not."""

from __future__ import annotations

from . import plain, stream
from .answer import Answer
from .exchange import Exchange


def read(exchange: Exchange) -> Answer:
    """Given an exchange, return what was answered; an empty Answer where there was no whole answer of status 200."""
    if not exchange.answered:
        return Answer()
    return stream.read(exchange) if exchange.streamed else plain.read(exchange)
