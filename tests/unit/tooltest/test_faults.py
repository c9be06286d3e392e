"""The test of the test: each fault of a server flips its own check and no other, streamed, whole or both."""

from __future__ import annotations

import pytest

from floor.sim.spoil import WHAT
from floor.tooltest.suite import read
from floor.tooltest.trial.record import STREAMED, WHOLE
from tests.unit.tooltest.exchanges import played, scenario

# Few scenarios in which every fault can show.
SHOWN = [
    *("select/one-of-fifty", "args/number-and-unit", "shapes/nullable", "shapes/referenced", "shapes/no-arguments"),
    *("shapes/boolean-and-integer", "payload/closing-tags", "payload/entities", "payload/letters"),
    *("payload/quotes-and-backslashes", "parallel/same-tool-twice", "control/none", "control/required"),
    *("control/named", "control/one-at-a-time", "history/short-ids"),
]
BOTH, ONLY_STREAMED = (STREAMED, WHOLE), (STREAMED,)
# What each fault breaks, and in which answers. None: no check of a single trial; the score or a probe tells.
BREAKS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "call-in-content": ("call-in-content", BOTH),
    "bare-call-in-content": ("call-in-content", BOTH),
    "tag-beside-call": ("call-in-content", BOTH),
    "call-in-reasoning": ("call-in-reasoning", BOTH),
    "lost-brace": ("arguments-text", BOTH),
    "arguments-as-object": ("arguments-text", BOTH),
    "arguments-twice": ("arguments-text", BOTH),
    "arguments-lost": ("arguments-schema", BOTH),
    "empty-absent": ("empty-arguments", BOTH),
    "empty-null": ("empty-arguments", BOTH),
    "empty-text": ("empty-arguments", BOTH),
    "empty-object": ("empty-arguments", BOTH),
    "no-id": ("ids", BOTH),
    "empty-id": ("ids", BOTH),
    "same-ids": ("ids", BOTH),
    "same-index": ("stream-indexes", ONLY_STREAMED),
    "no-index": ("stream-indexes", ONLY_STREAMED),
    "finish-stop": ("finish", BOTH),
    "finish-without-call": ("finish", BOTH),
    "no-done": ("well-formed", ONLY_STREAMED),
    "boolean-as-text": ("arguments-schema", BOTH),
    "number-as-text": ("arguments-schema", BOTH),
    "object-as-text": ("arguments-schema", BOTH),
    "null-as-text": ("payload", BOTH),
    "cut-at-tag": ("payload", BOTH),
    "unescaped-html": ("payload", BOTH),
    "escaped-html": ("payload", BOTH),
    "latin-1": ("payload", BOTH),
    "backslashes-doubled": ("payload", BOTH),
    "leaked-mark": ("marks-in-values", BOTH),
    "unknown-tool": ("tool-known", BOTH),
    "none-ignored": ("choice", BOTH),
    "required-ignored": ("choice", BOTH),
    "named-ignored": ("choice", BOTH),
    "parallel-ignored": ("choice", BOTH),
    "server-error": ("accepted", BOTH),
    "refuses-own-call": ("own-call-accepted", BOTH),
    "refuses-short-ids": ("history-accepted", BOTH),
    "prompt-cut": ("prompt-whole", BOTH),
    "wrong-digit": (None, BOTH),
    "load": (None, BOTH),
    "state": (None, BOTH),
    "silent": ("choice", BOTH),  # it does not call where it is required to
    "words-only": ("choice", BOTH),
}


def broken(what: str, mode: str) -> set[str]:
    """The checks that any of the scenarios breaks."""
    names = [*SHOWN, "long/early-8k"] if what == "prompt-cut" else SHOWN
    records = [played(scenario(name), mode, what) for name in names]
    return {name for one in records for name, wrong in one.checks.items() if wrong}


@pytest.mark.parametrize("what", WHAT)
def test_a_fault_breaks_its_own_check_and_no_other(what: str) -> None:
    check, modes = BREAKS[what]
    for mode in BOTH:
        assert broken(what, mode) == ({check} if check and mode in modes else set()), mode


def test_a_perfect_model_has_everything_right() -> None:
    for place, one in enumerate(read.suite()):
        found = played(one, BOTH[place % 2], trial=place % 3, seed=place)
        assert (one.id, found.score, found.reason, [w for w in found.checks.values() if w]) == (one.id, 1.0, "", [])


def test_a_silent_model_has_nothing_right() -> None:
    assert [one.id for one in read.suite() if played(one, WHOLE, "silent").score] == []


def test_a_model_with_wrong_digits_breaks_no_check_and_loses_its_score() -> None:
    found = [played(scenario(name), STREAMED, "wrong-digit") for name in SHOWN]
    assert sum(one.score for one in found) == 9


@pytest.mark.parametrize("what", ["finish-stop", "no-id", "same-ids", "tag-beside-call"])
def test_a_fault_of_the_wire_alone_costs_no_behaviour(what: str) -> None:
    """The two axes are never mixed."""
    assert all(played(scenario(name), STREAMED, what).score == 1 for name in SHOWN)
