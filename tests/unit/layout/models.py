"""The shapes of published models, from their config.json in tests/cases/layout/configs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from floor.layout.architecture import shape
from floor.layout.shape import Shape

FOLDER = Path(__file__).parents[2] / "cases" / "layout" / "configs"


def config(name: str) -> dict[str, Any]:
    """Given a model's name, return its config.json."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


@functools.cache
def published(name: str) -> Shape:
    """Given a model's name, return its shape."""
    return shape(config(name), f"{name}.json")
