"""What systemd's own library makes of our quoting, and of the reader that the unit tests believe in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.render import systemd, systemd_exec
from tests import argv
from tests.integration.render.libsystemd import cut
from tests.unit.render import systemd_reader

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r")) | st.text(
    "%$\"'\\ \t;{}#xnu41", max_size=12
)


def _expand(word: str) -> str:
    """Specifiers, then variables, which systemd replaces after cutting; unit tests hold that no lone one is left."""
    return word.replace("%%", "%").replace("$$", "$")


@given(st.lists(WORDS, max_size=8))
def test_a_command_line_comes_back_as_it_was(words: list[str]) -> None:
    planned = ["/usr/bin/true", *words]
    assert [_expand(word) for word in cut(systemd_exec(planned))] == planned


def test_every_nasty_word_comes_back() -> None:
    assert [_expand(word) for word in cut(systemd_exec(argv.command(argv.words())))] == argv.command(argv.words())


@given(st.lists(WORDS, max_size=8))
def test_the_reader_of_the_unit_tests_cuts_as_systemd_does(words: list[str]) -> None:
    line = " ".join(systemd(word) for word in words)
    assert systemd_reader.cut(line) == cut(line)


@pytest.mark.parametrize("line", ['"open', "'open", r'"\q"', "ends \\"])
def test_both_refuse_what_is_no_line(line: str) -> None:
    with pytest.raises(ValueError, match="systemd says"):
        cut(line)
    with pytest.raises(ValueError, match=r"open|escape|ends"):
        systemd_reader.cut(line)
