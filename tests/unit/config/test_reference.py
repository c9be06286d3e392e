"""docs/configuration.md: made from the model, current, complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.config import reference, shape

COMMITTED = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_committed_document_is_current() -> None:
    assert COMMITTED.read_text() == reference.reference(), (
        "run: python -m floor.config.reference > docs/configuration.md"
    )


def test_every_option_has_a_row_that_says_what_to_write() -> None:
    rows = [line.split(" | ") for line in reference.reference().splitlines() if line.startswith("| `")]
    parts = {path[:-1] for path, _, _ in shape.fields()}
    again = (("runtime",), ("fetch",))  # parts of a copy and of a split that have the model's keys
    own = [path for path, _, _ in shape.fields() if path[-2:-1] not in again]
    shown = own + [path for path, _, _ in shape.fields() if path[-2:-1] in again and path[:-2] == ("models", "*")]
    assert len(parts) == 20
    assert len(rows) == len(shown)
    for row in rows:
        assert len(row) == 4
        assert all(cell.strip(" |") for cell in row)
        assert "another kind" not in row[3]


@pytest.mark.parametrize(
    ("value", "written"),
    [(1800.0, "30m"), (2400.0, "40m"), (0.5, "500ms"), (2.0, "2s"), (5400.0, "90m"), (7200.0, "2h"), (0.0015, "1.5ms")],
)
def test_seconds_are_written_as_in_the_file(value: float, written: str) -> None:
    assert reference.seconds(value) == written


@pytest.mark.parametrize(
    ("value", "written"), [(8 << 30, "8GiB"), (10200547328, "9.5GiB"), (64 << 20, "64MiB"), (1024, "1KiB"), (0, "0KiB")]
)
def test_bytes_are_written_as_in_the_file(value: int, written: str) -> None:
    assert reference.size(value) == written
