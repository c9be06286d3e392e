"""From the log of a start to what an engine takes beside weights and cache: measured, in place of constants."""

from __future__ import annotations

from floor.engines import share as share_of
from floor.engines.log import Start
from floor.layout.ledger import Ledger
from floor.sizes import GIB

_ROUNDED = 0.01  # of a request: concurrency is logged with two decimals


def beside(start: Start, share: float, total: float, weights: float) -> dict[str, float]:
    """Given what a start has logged, the share it was started with, the bytes of the card and those of the weights on
    it, return bytes by part, as `floor.layout.memory.overhead` takes them; empty where the log does not tell enough.

    What the engine was given less weights and cache is what it takes: the very cache that it printed comes out again.
    Releases that estimate the graphs have them in that; others capture theirs beside their share.
    """
    found = share_of.held(start, share, total)
    held = found - weights if found is not None else 0.0
    if held <= 0:
        return {}
    graphs = min(held, max(0.0, (start.graphs_estimated or 0.0) * GIB))
    return {"activations": held - graphs, "runtime": 0.0, "graphs": graphs}


def tokens(ledger: Ledger, given: float, start: Start, length: int) -> int:
    """Given a model's ledger, the bytes of its cache on each card, what its start has logged and the longest request,
    return the tokens that the rules give, in the meaning that the log has.

    Up to 0.19 vLLM logged the tokens of its blocks, since 0.20.1 concurrency times length: the log shows which.
    """
    blocks = int(given // ledger.per_block(0, ledger.layers))
    new = ledger.table.tokens(blocks, length)
    if start.tokens is None or start.concurrency is None or start.context is None:
        return new
    logged = start.concurrency * start.context
    return new if abs(start.tokens - logged) <= _ROUNDED * start.context else ledger.table.tokens_before(blocks)
