"""Values on one line of YAML: what every reader reads back is what was written."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from floor.config import scalars, source
from floor.config.emit import flow

WRITTEN = {
    "spark-a": "spark-a", "/models/x": "/models/x", "9.5GiB": "9.5GiB", "30m": "30m", "fd00::2": "fd00::2",
    "registry.example/vllm@sha256:ab": "registry.example/vllm@sha256:ab", "ops@spark-a": "ops@spark-a",
    "no": '"no"', "22:30": '"22:30"', "010": '"010"', "8000": '"8000"', "1.5": '"1.5"', "null": '"null"', "": '""',
    "true": '"true"', "a b": '"a b"', "a: b": '"a: b"', "a #b": '"a #b"', "a:": '"a:"', "-": '"-"', "- a": '"- a"',
    "--flag": '"--flag"', "@a": '"@a"', "...": '"..."', "{a}": '"{a}"', "a,b": '"a,b"', "it's": '"it\'s"', "é": '"é"',
    'a"b\\': '"a\\"b\\\\"', "a\nb": '"a\\x0ab"', "\x85": '"\\x85"', "\u2028": '"\\u2028"',
    "\U000e0001": '"\\U000e0001"',
    "~": '"~"', "=": '"="', "<<": '"<<"', "2025-01-31": '"2025-01-31"',
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_a_text_is_plain_where_it_can_be(text: str) -> None:
    assert flow(text) == WRITTEN[text]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"), (True, "true"), (False, "false"), (0, "0"), (-5, "-5"), (0.74, "0.74"), (1.0, "1.0"),
        (1e-7, "1.0e-07"), (1.5e300, "1.5e+300"), (1e22, "1.0e+22"), ([], "[]"), ({}, "{}"),
        ([1, "a", None], "[1, a, null]"), (("a",), "[a]"),
        ({"kind": "native", "command": ["/x", "-I"]}, '{kind: native, command: [/x, "-I"]}'),
        ({"on": {"8": 9}}, '{"on": {"8": 9}}'),
    ],
)  # fmt: skip
def test_values_are_on_one_line(value: Any, written: str) -> None:
    assert flow(value) == written


@pytest.mark.parametrize(
    ("value", "like", "written"),
    [
        ("a", "'", "'a'"), ("a", '"', '"a"'), ("it's", "'", "'it''s'"), ("a\nb", "'", '"a\\x0ab"'), (5, "'", "5"),
        ("no", "'", "'no'"),
    ],
)  # fmt: skip
def test_a_text_keeps_the_quotes_it_had(value: Any, like: str, written: str) -> None:
    assert flow(value, like) == written


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"^not a finite number"):
        flow(value)


def test_what_is_not_plain_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^not a value that floor\.yaml can hold: bytes$"):
        flow(b"x")


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(CHARACTERS, max_size=15) | st.text("0123456789.:-_eExonys~=<#,{}[]&*!|>'\"%@`\\ \n\t", max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda some: st.lists(some, max_size=3) | st.dictionaries(TEXTS, some, max_size=3), max_leaves=6
)


@given(VALUES, st.sampled_from([None, "'", '"']))
@settings(deadline=None)
def test_every_reader_reads_back_what_was_written(value: Any, like: str | None) -> None:
    text = f"{{a: {flow(value, like)}, b: [{flow(value)}]}}"
    wanted = json.dumps({"a": value, "b": [value]})
    assert json.dumps(yaml.safe_load(text)) == wanted
    assert json.dumps(YAML(typ="safe", pure=True).load(io.StringIO(text))) == wanted
    block = f"a: {flow(value, like)}\n"
    assert json.dumps(yaml.safe_load(block)["a"]) == json.dumps(value)


@given(SCALARS)
@settings(deadline=None)
def test_nothing_that_is_written_surprises(value: Any) -> None:
    word = flow(value)
    if not word.startswith('"'):
        assert json.dumps(scalars.read(word)) == json.dumps(value)


@given(st.text("abc019.:-_/@", min_size=1, max_size=8))
@settings(deadline=None)
def test_our_own_reader_agrees(value: str) -> None:
    read, problems = source.read(f"a: {flow(value)}\n", "f")
    assert (read.data, problems) == ({"a": value}, [])
