"""Every value is known by its line and by the words that stand there."""

from __future__ import annotations

import pytest

from floor.config import source, syntax
from floor.config.problem import Problem, Source, short, show
from floor.errors import ConfigError

TEXT = """\
boxes:                       # 1
  spark-a: {host: 192.0.2.11,
            managed: true}
  "spark-b":
    host: '192.0.2.12'
list:
  - one
  -
    - two
folded: >
  some
  text
"""


def _read(text: str) -> Source:
    read, problems = source.read(text, "f")
    assert problems == []
    return read


def test_values_are_plain() -> None:
    assert _read(TEXT).data == {
        "boxes": {"spark-a": {"host": "192.0.2.11", "managed": True}, "spark-b": {"host": "192.0.2.12"}},
        "list": ["one", ["two"]],
        "folded": "some text\n",
    }


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("boxes",), 1),
        (("boxes", "spark-a"), 2),
        (("boxes", "spark-a", "managed"), 3),
        (("boxes", "spark-b"), 4),
        (("boxes", "spark-b", "host"), 5),
        (("list", 0), 7),
        (("list", 1, 0), 9),
        (("folded",), 10),
        (("boxes", "spark-b", "ssh"), 4),
        (("boxes", "spark-c", "fabric", "address"), 1),
        (("nothing",), 1),
    ],
)
def test_a_place_is_a_line(path: tuple[str | int, ...], line: int) -> None:
    assert _read(TEXT).line_of(path) == line


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (("boxes", "spark-a", "managed"), "true"),
        (("boxes", "spark-b", "host"), 'the text "192.0.2.12"'),
        (("boxes", "spark-a"), "a mapping"),
        (("list",), "a list"),
        (("boxes", "spark-a", "ssh"), "nothing"),
        (("list", 0, "box"), "one"),
        (("folded",), 'the text "some text\\n"'),
    ],
)
def test_what_was_found_is_told_in_the_files_words(path: tuple[str | int, ...], words: str) -> None:
    assert _read(TEXT).found(path) == words


def test_a_problem_is_one_line() -> None:
    read = _read(TEXT)
    assert read.tell(Problem(("list", 1, 0), "three")) == "list[1][0] (f:9): found two; write three"
    assert read.tell(Problem((), "more", "little")) == "f:1: found little; write more"
    assert read.tell(Problem(("list",), "it", warning=True, line=3)) == "list (f:3): found a list; better write it"


def test_aliases_are_values_at_their_own_place() -> None:
    read = _read("a: &x {b: 1}\nc: *x\n")
    assert read.data == {"a": {"b": 1}, "c": {"b": 1}}
    assert (read.line_of(("c",)), read.line_of(("c", "b"))) == (2, 1)


def test_an_anchor_may_be_used_often_but_not_to_blow_up() -> None:
    laughs = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 25))
    with pytest.raises(
        ConfigError, match=r"^f:\d+: found more than 10000 values \(aliases count each time\); write fewer$"
    ):
        source.read(laughs, "f")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: {b", "f:1: found a `{` that is not closed; write `,` between its keys and `}` behind them"),
        ("a: %x", "f:1: found a character that cannot start a word; write quotes around the text"),
        ("a: &", "f:1: found a `&` or `*` without a name; write quotes around the text"),
        ("%YAML 3.0\n--- a", "f:1: found another version of YAML; write YAML without a %YAML line"),
        (f"%YAML {'1' * 5000}.1\n--- a", "f:1: found a number or an escape beyond all limits; write a smaller one"),
        ("a: {b: c}}", "f:1: found a `}` that closes nothing; write as many `{` as `}`"),
        ("a: [b]]", "f:1: found a `]` that closes nothing; write as many `[` as `]`"),
        ("a: \x07", "f:1: found the character U+0007; write the text without it"),
        ("a: b\nc: \x1b", "f:2: found the character U+001B; write the text without it"),
        ("null", "f:1: found null; write boxes, models and proxy, each with a `:` behind it"),
        ("", "f: found an empty file; write boxes, models and proxy (`floor init` writes a first one)"),
    ],
)  # fmt: skip
def test_what_is_no_yaml_is_told_in_our_words(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        source.read(text, "f")
    assert refusal.value.problems == (problem,)


def test_an_error_without_a_place_has_the_line_it_came_at() -> None:
    assert syntax.tell(ValueError("chr()"), "", "f", 7).startswith("f:7: found a number or an escape")


@pytest.mark.parametrize(
    ("path", "shown"),
    [((), ""), (("a", 0, "b"), "a[0].b"), ((0,), "[0]"), (("x\ny",), "x\\ny"), (("k" * 70,), "k" * 59 + "…")],
)
def test_a_path_is_shown_on_one_line(path: tuple[str | int, ...], shown: str) -> None:
    assert show(path) == shown


def test_long_and_odd_texts_are_cut() -> None:
    assert short("a" * 60) == "a" * 60
    assert short("a" * 61) == "a" * 59 + "…"
    assert short("tab\there") == "tab\\there"
    assert short("\ud800") == "\\ud800"
