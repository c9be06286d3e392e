"""Models that are to survive the loss of any one box."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config.model import Config
from floor.config.problem import Problem


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, warn of critical models that the loss of one box takes away."""
    for name, model in config.models.items():
        boxes = sorted({copy.box for copy in model.replicas})
        if model.critical and len(boxes) < 2:
            found = f"a copy on {boxes[0]} alone" if boxes else "no copy, and a split that each of its boxes can end"
            write = "copies on at least two boxes, so that the model survives the loss of one"
            yield Problem(("models", name, "critical"), write, found, warning=True)
