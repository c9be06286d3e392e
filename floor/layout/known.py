"""From the log of a start to what an engine takes beside weights and cache: measured, in place of constants."""

from __future__ import annotations

from floor.engines.log import Start
from floor.layout.cards import GIB


def beside(start: Start, share: float, total: float, weights: float) -> dict[str, float]:
    """Given what a start has logged, the share it was started with, the bytes of the card and those of the weights on
    it, return bytes by part, as `floor.layout.memory.overhead` takes them; empty where the log does not tell enough.

    What the engine was given less weights and cache is what it takes: the very cache that it printed comes out again.
    Releases that estimate the graphs have them in that; others capture theirs beside their share.
    """
    if start.available is None or start.available <= 0:
        return {}
    held = share * total - start.available * GIB - weights
    if held <= 0:
        return {}
    graphs = min(held, max(0.0, (start.graphs_estimated or 0.0) * GIB))
    return {"activations": held - graphs, "runtime": 0.0, "graphs": graphs}
