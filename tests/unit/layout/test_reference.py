"""docs/layout.md: made from the rows, current, with those that are missed."""

from __future__ import annotations

from pathlib import Path

from floor.layout import reference
from floor.layout.cards import CARDS
from floor.layout.rows import BATCHES, ONE_STREAM, PROMPTS

COMMITTED = Path(__file__).parents[3] / "docs" / "layout.md"


def test_the_committed_document_is_current() -> None:
    made = "run: python -m floor.layout.reference > docs/layout.md"
    assert COMMITTED.read_text(encoding="utf-8") == reference.reference(), made


def test_every_row_and_every_card_is_in_it() -> None:
    lines = reference.reference().splitlines()
    rows = [line for line in lines if line.endswith(" |") and (" held out |" in line or " fitted | " in line)]
    speeds = [line for line in rows if line.count("|") == 12]
    assert len(speeds) == len(ONE_STREAM) + len(BATCHES) + len(PROMPTS)
    assert any("**+19%**" in line for line in speeds)
    assert all(any(line.startswith(f"| {name} |") for line in lines) for name in CARDS)
