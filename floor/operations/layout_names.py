"""Models and backends as a person names them to `floor layout`. Raises UsageError."""

from __future__ import annotations

import re
from collections.abc import Sequence

from floor.config.values import NAME
from floor.errors import UsageError
from floor.layout.fleet import Place, Want


def folder(text: str) -> tuple[str, str]:
    """Given NAME=FOLDER, return both."""
    name, _, source = text.partition("=")
    if not re.fullmatch(NAME, name) or not source:
        raise UsageError(f"{text}: write NAME=FOLDER, such as flagship=./weights; a name has a-z, 0-9, `-` and `.`")
    return name, source


def curve(text: str, wants: Sequence[Want], places: Sequence[Place]) -> tuple[str, dict[int, float]]:
    """Given BACKEND=1:36,4:82, models and boxes, return the backend's name and tokens a second by requests at once."""
    name, _, rest = text.partition("=")
    points: dict[int, float] = {}
    try:
        for pair in rest.split(","):
            many, _, speed = pair.partition(":")
            points[int(many)] = float(speed)
    except ValueError:
        points = {}
    if "@" not in name or not points or min(points) < 1 or not all(0 < speed < 1e9 for speed in points.values()):
        raise UsageError(f"--curve {text}: write BACKEND=REQUESTS:SPEED,…, such as flagship@spark-a=1:36,4:82,8:109")
    model, _, boxes = name.rpartition("@")
    want, listed = next((want for want in wants if want.name == model), None), boxes.split("+")
    if want is None or len(set(listed)) < len(listed) or not set(listed) <= {place.name for place in places}:
        known = f"{', '.join(want.name for want in wants)} @ {', '.join(place.name for place in places)}"
        raise UsageError(f"--curve {text}: there is no backend {name}; write MODEL@BOX or MODEL@BOX+BOX of {known}")
    if len(listed) == 1:
        return name, points
    return f"{model}@{'+'.join(place.name for place in want.linked(places) if place.name in listed)}", points
