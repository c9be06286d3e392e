"""Durations, sizes and folders as floor.yaml writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.config import reference, values
from floor.config.model import Box, Model

DURATIONS = {"500ms": 0.5, "90s": 90.0, "30m": 1800.0, "2h": 7200.0, "1.5h": 5400.0, "0.5s": 0.5, 30: 30.0, 0.25: 0.25}
SIZES = {
    "64MiB": 64 << 20,
    "9.5GiB": 10200547328,
    "1TiB": 1 << 40,
    "512KiB": 1 << 19,
    0: 0,
    1 << 20: 1 << 20,
    "0GiB": 0,
}


@pytest.mark.parametrize("written", DURATIONS)
def test_a_duration_is_seconds(written: Any) -> None:
    model = Model.model_validate({"request_time": written})
    assert model.request_time == pytest.approx(DURATIONS[written])
    assert isinstance(model.request_time, float)


@pytest.mark.parametrize(
    "written", ["", "30", "30 m", "1h30m", "-5s", "5d", "30M", "half", True, None, [], "٣s", "9" * 40 + "s"]
)
def test_another_duration_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="a duration such as 500ms, 90s, 30m or 2h"):
        values.seconds(written)


@pytest.mark.parametrize("written", ["0s", 0, -1, "169h", 1e9])
def test_a_duration_has_limits(written: Any) -> None:
    with pytest.raises(ValueError, match=r"^a duration above 0 and at most 168h$"):
        values.seconds(written)


@pytest.mark.parametrize("written", SIZES)
def test_a_size_is_bytes(written: Any) -> None:
    box = Box.model_validate({"host": "192.0.2.1", "keep_free": written})
    assert box.keep_free == SIZES[written]


@pytest.mark.parametrize(
    "written", ["8", 8, 8.5, "8GB", "8G", "8 GiB", "-1GiB", "GiB", True, None, 2**61, "9" * 16 + "TiB"]
)
def test_another_size_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match=r"^a size with its unit"):
        values.size(written)


@pytest.mark.parametrize("path", ["/models/flagship", "/m", "/models/with space", "/models/ünïcode", "/models/x/"])
def test_an_absolute_path_is_a_folder(path: str) -> None:
    assert values.folder(path) == path


@pytest.mark.parametrize(
    ("path", "write"),
    [
        ("~/models", "`~` is another folder for each user"),
        ("org/name", "nothing is fetched while serving"),
        ("./models", "an absolute path, such as"),
        ("models", "an absolute path, such as"),
        ("", "an absolute path, such as"),
        ("/a/../b", "without `:`, `//`, `.`, `..`"),
        ("/a/./b", "without `:`, `//`, `.`, `..`"),
        ("/a//b", "without `:`, `//`, `.`, `..`"),
        ("/a:b", "without `:`, `//`, `.`, `..`"),
        ("/a\nb", "without `:`, `//`, `.`, `..`"),
    ],
)
def test_another_path_is_refused(path: str, write: str) -> None:
    with pytest.raises(ValueError, match=write):
        values.folder(path)


@given(st.integers(1, 7 * 24 * 3600 * 1000).map(lambda thousandths: thousandths / 1000))
@settings(deadline=None)
def test_a_duration_survives_being_written(seconds: float) -> None:
    assert values.seconds(reference.seconds(seconds)) == pytest.approx(seconds, rel=1e-5)


@given(st.integers(0, 2**20).map(lambda steps: steps * 2**20))
@settings(deadline=None)
def test_a_size_survives_being_written(size: int) -> None:
    assert values.size(reference.size(size)) == pytest.approx(size, rel=1e-5)


def test_parts_are_frozen() -> None:
    box = Box(host="192.0.2.1")
    with pytest.raises(ValueError, match="frozen"):
        box.host = "192.0.2.2"  # type: ignore[misc]
