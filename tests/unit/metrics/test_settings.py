"""What floor-metrics is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.errors import FloorError
from floor.metrics import settings

BACKEND = {
    "name": "m@a",
    "url": "http://h:1",
    "box": "a",
    "model": "m",
    "dialect": "vllm",
    "key": True,
    "servers": ["h:1"],
}
WHOLE: dict[str, Any] = {
    "box": "a",
    "listen": "10.0.0.1",
    "port": 9808,
    "interval": 5,
    "key_file": "/etc/floor/secrets/engine.key",
    "proxy": True,
    "backends": [BACKEND],
}


def written(tmp_path: Path, **changes: object) -> Path:
    place = tmp_path / "metrics.json"
    place.write_text(json.dumps({**WHOLE, **changes}))
    return place


def test_the_whole_file(tmp_path: Path) -> None:
    found = settings.load(written(tmp_path))
    assert found.backends == (settings.Backend("m@a", "http://h:1", "a", "m", "vllm", True, ("h:1",)),)
    assert (found.port, found.interval, found.key_file) == (9808, 5.0, Path("/etc/floor/secrets/engine.key"))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"port": 0}, "port: found 0, expected a whole number above 0"),
        ({"interval": 0}, "interval: found 0, expected a number above 0"),
        ({"backends": [{**BACKEND, "key": None}]}, r"backends\[0\].key: found None, expected true or false"),
        (
            {"backends": [BACKEND, BACKEND]},
            "backend name 'm@a' stands there twice; `floor deploy` writes the file anew",
        ),
    ],
)
def test_wrong_settings(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    with pytest.raises(FloorError, match=says):
        settings.load(written(tmp_path, **changes))
