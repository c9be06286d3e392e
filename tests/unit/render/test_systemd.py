"""O18: what is planned is what systemd starts, whatever is in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.render import systemd, systemd_env, systemd_exec, systemd_text
from tests import argv
from tests.unit.render import systemd_reader

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"))
NASTY = st.text("%$\"'\\ \t;{}#xnu41h@:", max_size=12)


@given(st.lists(WORDS | NASTY))
def test_a_command_line_comes_back_as_it_was(words: list[str]) -> None:
    planned = ["/usr/bin/true", *words]
    assert systemd_reader.command_line(systemd_exec(planned)) == planned


@pytest.mark.parametrize("word", argv.words())
def test_every_nasty_word_comes_back(word: str) -> None:
    assert systemd_reader.command_line(systemd(word)) == [word]


@given(WORDS | NASTY)
def test_a_variable_comes_back_as_it_was(value: str) -> None:
    assert systemd_reader.assignment(systemd_env("NAME", value)) == f"NAME={value}"


@given(WORDS | NASTY)
def test_nothing_leaves_its_line(word: str) -> None:
    for quoted in (systemd(word), systemd_env("NAME", word)):
        assert not set("\n\r\0") & set(quoted)
        assert not quoted.endswith("\\") or quoted.endswith("\\\\")


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("--max-model-len", "--max-model-len"),
        ("fp8", "fp8"),
        ("a b", '"a b"'),
        ("100%", '"100%%"'),
        ("$HOME", '"$$HOME"'),
        ('{"method":"mtp"}', r'"{\"method\":\"mtp\"}"'),
        ("", '""'),
        (";", '";"'),
        ("\t", r'"\x09"'),
        ("ü", '"ü"'),
    ],
)
def test_how_it_looks(word: str, quoted: str) -> None:
    assert systemd(word) == quoted


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/rm", "a\r", "\n"])
@pytest.mark.parametrize("quote", [systemd, systemd_text, lambda word: systemd_env("NAME", word)])
def test_the_end_of_a_line_is_refused(word: str, quote: object) -> None:
    with pytest.raises(ValueError, match="a unit file has no place for the end of a line, found"):
        quote(word)  # type: ignore[operator]


@pytest.mark.parametrize(("word", "text"), [("a\0b", "systemd reads no NUL"), ("\ud800", "systemd reads UTF-8 only")])
def test_what_no_unit_can_hold_is_refused(word: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        systemd(word)


@pytest.mark.parametrize("program", ["python3", "./x", "", "/usr//bin/x", "/usr/../x", "/x/", "/a$b", '/a"b', "/a\\b"])
def test_a_program_that_would_not_arrive_as_it_is_is_refused(program: str) -> None:
    with pytest.raises(ValueError, match="a unit's program must be a plain absolute path, found"):
        systemd_exec([program])


def test_a_unit_needs_a_program() -> None:
    with pytest.raises(ValueError, match="a unit needs a program"):
        systemd_exec([])


def test_a_program_may_have_a_space_and_a_percent() -> None:
    planned = ["/opt/my engine/100%/run", "x"]
    assert systemd_reader.command_line(systemd_exec(planned)) == planned


def test_a_description_has_no_specifiers() -> None:
    assert systemd_text("100% of $it") == "100%% of $it"
