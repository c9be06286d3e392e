from __future__ import annotations

import shlex
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from floor.render import environment, shell, template
from tests import argv


def test_a_name_without_a_value_is_an_error() -> None:
    """Jinja's default would render `worker_shutdown_timeout ;`."""
    with pytest.raises(UndefinedError, match="'shutdown' is undefined"):
        template("nginx/process.conf.j2", user="www-data", descriptors=1, pid="/run/x")


def test_every_template_can_be_read() -> None:
    names = environment().list_templates()
    assert len(names) > 15
    for name in names:
        environment().get_template(name)


def test_templates_hold_text_and_no_decisions() -> None:
    root = files("floor") / "templates"
    for name in environment().list_templates():
        text = (root / name).read_text(encoding="utf-8")
        assert "mode ==" not in text, name
        assert "{% set" not in text, name


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_a_shell_gives_back_the_words(words: list[str]) -> None:
    assert shlex.split(shell(words)) == words


def test_a_shell_gives_back_every_nasty_word() -> None:
    assert shlex.split(shell(argv.words())) == argv.words()


@pytest.mark.parametrize("word", ["$(id)", "`id`", "a;b", "$HOME", "*", "~", "a b", ""])
def test_a_shell_is_told_nothing_to_do(word: str) -> None:
    assert shell([word]) == f"'{word}'"
