"""What a start's own log announces before the box freezes. Pure."""

from __future__ import annotations

from floor.engines.log import Start

MARGIN = 1.02  # what is announced is rounded, and of one card


def sign(start: Start, total: float, utilization: float | None) -> str:
    """Given what a start has logged so far, GiB of the memory that it takes its share of, and that share, return what
    is wrong with what it announces; empty where nothing is.

    vllm#44740: a negative estimate of the CUDA graphs' memory gave 90.6 GiB of cache at a share of 0.80.
    """
    if start.graphs_estimated is not None and start.graphs_estimated < 0:
        return f"its log estimates {start.graphs_estimated:g} GiB for CUDA graphs, so its cache is too large by more"
    if start.weights is None or start.available is None or utilization is None:
        return ""
    asked = total * utilization
    announced = start.weights + start.available
    if announced > asked * MARGIN:
        return (
            f"its log announces {start.weights:g} GiB of weights and {start.available:g} GiB of cache, more than the "
            f"{asked:.1f} GiB of its share {utilization:g}"
        )
    return ""
