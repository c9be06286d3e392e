from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.render import NGINX_LONGEST, nginx
from tests import argv

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)
NASTY = st.text("${}\"'\\ ;#\n\tnrt", max_size=12)


def read(word: str) -> str:
    """nginx's reading of one word that expands variables: ngx_conf_file.c, ngx_conf_read_token."""
    if word[0] not in "\"'":
        assert re.fullmatch(r"[^\s;{}\"'\\$#]+", word), "a word without quotes holds nothing special"
        return word
    mark, inner = word[0], word[1:-1]
    assert word[-1] == mark
    assert not re.search(rf"(?<!\\)(\\\\)*{mark}", inner), "the quotes end early"
    text = re.sub(r"\\([\"'\\])", r"\1", inner)
    assert "$" not in text.replace("${floor_dollar}", ""), "a variable"
    return text.replace("${floor_dollar}", "$")


@given(TEXTS | NASTY)
def test_a_text_is_one_word_and_comes_back(text: str) -> None:
    assert read(nginx(text)) == text


@pytest.mark.parametrize("word", argv.words())
def test_every_nasty_word_comes_back(word: str) -> None:
    assert read(nginx(word)) == word


def test_json_stays_readable() -> None:
    assert nginx('{"error": "none"}') == """'{"error": "none"}'"""


def test_a_dollar_is_written_by_a_variable() -> None:
    assert nginx("$host") == '"${floor_dollar}host"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\0", "nginx reads no NUL, found one in 'a"),
        ("\udfff", "nginx reads UTF-8 only"),
        ("x " * NGINX_LONGEST, f"nginx reads no word longer than {NGINX_LONGEST} bytes, found {2 * NGINX_LONGEST}"),
    ],
)
def test_what_no_configuration_can_hold_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        nginx(text)
