"""What a caller got wrong is named with the call, the parameter and what it must be, before anything happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from floor.agent.params import LONGEST_WAIT, Params
from floor.errors import UsageError

READERS: dict[str, tuple[Callable[[Params], Any], list[Any], list[Any]]] = {
    "a text": (lambda p: p.text("x"), ["a", "☃ b"], [None, 1, "", "a\0b", [], True]),
    "a text that may be anything": (lambda p: p.raw("x"), ["", "a\n"], [None, 1, []]),
    "a list of texts": (lambda p: p.texts("x"), [[], ["a"]], [None, "a", [1], [""], [None]]),
    "a command line": (
        lambda p: p.words("x"),
        [["a"], ["a", "", "☃\n"]],
        [None, "a", [], [""], ["", "a"], ["a", 1], ["a\0"]],
    ),
    "a whole number": (lambda p: p.whole("x", 1), [1, 70000], [None, 0, -1, 1.5, "1", True, 10**30]),
    "a number": (lambda p: p.number("x", 0), [0, 1.5, 30], ["1", -1, True, [], float("nan")]),
    "true or false": (lambda p: p.flag("x"), [True, False], ["yes", 1, None]),
    "an object": (lambda p: p.mapping("x"), [{}, {"a": 1}], [None, [], "x"]),
    "a list of files": (
        lambda p: p.files("x"),
        [[], [{"path": "/a", "text": ""}], [{"path": "/a", "text": "", "mode": 0o600, "owner": "a:b"}]],
        [
            None,
            {},
            [{}],
            [{"path": "/a"}],
            [{"path": 1, "text": ""}],
            [{"path": "/a", "text": "", "mode": 0o4755}],
            ["x"],
        ],
    ),
}


@pytest.mark.parametrize("what", READERS)
def test_right_values_pass(what: str) -> None:
    read, right, _ = READERS[what]
    assert [read(Params("c", {"x": value})) for value in right] == right


@pytest.mark.parametrize(
    ("what", "value"), [(what, value) for what, (_, _, wrong) in READERS.items() for value in wrong]
)
def test_wrong_values_are_named(what: str, value: Any) -> None:
    with pytest.raises(UsageError, match=r"^c: parameter x: must be .*, found ") as caught:
        READERS[what][0](Params("c", {"x": value}))
    assert caught.value.exit_code == 2


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(UsageError, match=r"^unit.stop: parameter unit: must be a text, it is missing$"):
        Params("unit.stop", {}).text("unit")


def test_what_may_be_left_out_has_a_default() -> None:
    params = Params("c", {"n": None})
    assert (params.maybe_text("x"), params.maybe_whole("x"), params.number("n", 7), params.flag("x")) == (
        None,
        None,
        7,
        False,
    )
    assert params.mapping("x") == {}
    assert Params("c", {"x": 5}).maybe_whole("x") == 5
    assert Params("c", {"x": "a"}).maybe_text("x") == "a"


@pytest.mark.parametrize(
    ("given", "expected"), [({}, LONGEST_WAIT), ({"timeout": 3}, 3), ({"timeout": 4000}, LONGEST_WAIT)]
)
def test_no_call_waits_longer_than_25_seconds(given: dict[str, Any], expected: float) -> None:
    assert Params("c", given).timeout() == expected


def test_a_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(UsageError) as caught:
        Params("c", {"x": ["y" * 10_000]}).text("x")
    assert len(str(caught.value)) < 200
