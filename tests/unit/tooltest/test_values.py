"""Values: do they fit a schema, are they what was wanted, were they damaged on their way?"""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.tooltest.contract.payload import damage, damages
from floor.tooltest.contract.schema import fits, misfits, same
from floor.tooltest.suite.filled import matches, plain

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "integer"}, True, "the arguments: True is no integer"),
        ({"type": "integer"}, "7", "the arguments: '7' is no integer"),
        ({"type": "integer"}, 7.5, "the arguments: 7.5 is no integer"),
        ({"type": "boolean"}, "false", "the arguments: 'false' is no boolean"),
        ({"type": ["string", "null"]}, 7, "the arguments: 7 is no string or null"),
        ({"enum": ["a", 1]}, True, "the arguments: True is none of a, 1"),
        ({"const": 1}, 2, "the arguments: 2 is not 1"),
        ({"properties": {"a": POINT}}, {"a": {"x": "1"}}, "a.x: '1' is no integer"),
        ({"properties": {"a": POINT}}, {"a": {}}, "a: x is missing"),
        ({"properties": {"a": {"$ref": "#/$defs/p"}}, "$defs": {"p": POINT}}, {"a": "{}"}, "a: '{}' is no object"),
        ({"additionalProperties": {"type": "integer"}}, {"a": "b"}, "a: 'b' is no integer"),
        ({"items": {"type": "string"}}, ["a", 1], "[1]: 1 is no string"),
        ({"minItems": 2}, [1], "the arguments: 1 items, at least 2 are needed"),
        ({"maxItems": 1}, [1, 2], "the arguments: 2 items, at most 1 are allowed"),
        ({"minLength": 2}, "a", "the arguments: 'a' has 1 characters"),
        ({"pattern": "^b"}, "a", "the arguments: 'a' does not match ^b"),
        ({"minimum": 2}, 1, "the arguments: 1 is out of bounds"),
        ({"anyOf": [{"type": "null"}, POINT]}, 1, "the arguments: 1 fits none of the schema's alternatives"),
        ({"oneOf": [{}, {}]}, 1, "the arguments: 1 does not fit exactly one of the schema's alternatives"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "a", "the arguments: 'a' is no null"),
    ],
)
def test_what_does_not_fit_is_told(schema: dict[str, Any], value: Any, words: str) -> None:
    assert list(misfits(value, schema)) == [words]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1", "null"]) | st.just(1.5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
SIMPLE = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["object", "array", "string", "boolean", "null", "number", "integer", ["string", "null"]]
        ),
        "enum": st.lists(JSON, min_size=1, max_size=2),
        "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
        "minItems": st.integers(0, 2),
        "minLength": st.integers(0, 2),
        "minimum": st.integers(-2, 2),
    },
)
SCHEMA = st.recursive(
    SIMPLE,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "additionalProperties": st.just(False) | inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=4,
)


@settings(max_examples=60)
@given(SCHEMA, JSON)
def test_the_verdict_is_that_of_an_independent_validator(schema: dict[str, Any], value: Any) -> None:
    assert fits(value, schema) == jsonschema.Draft202012Validator(schema).is_valid(value)


def test_equality_is_that_of_json() -> None:
    assert same({"a": [1, 1.0]}, {"a": [1.0, 1]})
    assert not any(same(one, other) for one, other in [(True, 1), (0, False), ("1", 1), (None, 0), ([1], [1, 1])])


@pytest.mark.parametrize(
    ("wanted", "got", "right"),
    [
        ("a", "a", True),
        ("a", "A", False),
        ({"$like": "Ab"}, " aB ", True),
        ({"$like": "Ab"}, 7, False),
        ({"$text": "a\n b"}, "a\n b\n", True),
        ({"$text": "a\n b"}, "a\n b\n\n", False),
        ({"$in": [1, "one"]}, "one", True),
        ({"$in": [1]}, True, False),
        ({"a": {"$like": "x"}}, {"a": "X"}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2], [2, 1], False),
        (7, 7.0, True),
        (7, "7", False),
    ],
)
def test_a_value_is_what_was_wanted_or_not(wanted: Any, got: Any, right: bool) -> None:
    assert matches(wanted, got) is right
    assert matches(wanted, plain(wanted))


@pytest.mark.parametrize(
    ("wanted", "got", "words"),
    [
        ("a &amp; b", "a & b", "HTML was unescaped"),
        ("a & b", "a &amp; b", "HTML was escaped"),
        ('say "x"', "say &quot;x&quot;", "HTML was escaped"),
        ("a\nb", "a\\nb", "line ends became the two characters \\n"),
        ("a\\nb", "a\nb", "the two characters \\n became line ends"),
        ("C:\\new", "C:\\\\new", "backslashes were doubled"),
        ("C:\\dir", "C:dir", "backslashes were lost"),
        ('"a"', "a", "quotes were lost"),
        ("  a\n", "a", "blanks at its ends were lost"),
        ("a\nb", "a b", "line ends were lost"),
        ("a\tb", "a b", "tabs became blanks"),
        ("Łódź", "ÅÃ³dÅº".encode("latin-1", "ignore").decode("latin-1"), None),
        ("é", "Ã©", "UTF-8 was read as Latin-1"),
        ("naïve", "nave", "what is not ASCII was lost"),
        ("naïve", "na?ve", "what is not ASCII became ?"),
        ("naïve", "na\\xefve", "what is not ASCII stayed escaped"),
        ("abc </parameter> d", "abc", "it ends before '</parameter> d'"),
        ("abc", "abd", None),
        ("abc d", "abc", None),
        ("abc", "abc", None),
    ],
)
def test_damage_has_a_signature(wanted: str, got: str, words: str | None) -> None:
    assert damage(wanted, got) == words


def test_damage_is_found_however_deep() -> None:
    wanted, got = {"a": [{"b": "x & y", "c": None}]}, {"a": [{"b": "x &amp; y", "c": "null"}]}
    assert sorted(damages(wanted, got)) == ["a[0].b: HTML was escaped", "a[0].c: null became the text 'null'"]
    assert list(damages({"a": ["x"]}, {"a": ["y", "z"]})) == []
