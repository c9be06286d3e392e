"""What the documents say of the tool test is what it does."""

from __future__ import annotations

import re

import pytest

from floor.tooltest.contract.names import CHECKS
from floor.tooltest.flags import parser
from floor.tooltest.run.plan import TIERS
from floor.tooltest.suite.scenario import KINDS
from floor.tooltest.verdict import curve_page
from tests.unit.docs.documents import DOCUMENTS, ROOT, Command, commands, tables

PAGE = ROOT / "docs" / "tooltest.md"
CURVE = ROOT / "docs" / "operating-curve.md"
NAMED = [
    command
    for document in DOCUMENTS
    for command in commands(document, "floor")
    if command.words[0] == "tooltest" and len(command.words) > 1
]


def test_the_checks_are_those_of_the_document() -> None:
    told = {
        row[0].strip("`"): row[1].replace("`", "")
        for row in tables(PAGE)
        if row[0].startswith("`") and row[0].strip("`") in CHECKS
    }
    assert told == CHECKS


def test_the_kinds_and_tiers_are_those_of_the_document() -> None:
    first = [row[0] for row in tables(PAGE)]
    assert [name for name in first if name in KINDS] == list(KINDS)
    assert [name for name in first if name.startswith("`--tier")] == [f"`--tier {name}`" for name in TIERS]


@pytest.mark.parametrize("command", NAMED, ids=lambda command: command.where)
def test_a_command_that_is_named_is_one(command: Command) -> None:
    known = parser()._subparsers._group_actions[0].choices[command.words[1]]  # type: ignore[union-attr, index]
    assert set(command.options) <= set(known._option_string_actions)


def test_the_curve_is_as_the_command_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its frame, for as many gates as it says; the figures take minutes."""
    text = CURVE.read_text()
    gates = int(re.findall(r"--gates (\d+)", text)[0])
    shares = [row for row in tables(CURVE) if row[1] != "BLOCK"]
    monkeypatch.setattr(curve_page.curve, "curve", lambda *_, **__: {})
    lines = list(curve_page.lines(gates))
    assert all(line in text.splitlines() for line in lines)
    assert len(shares) == 8 * len(curve_page.MEANS)
    assert all(abs(sum(float(share.rstrip("%")) for share in row[1:]) - 100) < 0.2 for row in shares)
