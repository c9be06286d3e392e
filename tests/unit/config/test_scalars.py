"""A word without quotes means the same to every reader of YAML, or it is refused with what to write."""

from __future__ import annotations

import io
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML, YAMLError

from floor.config import scalars

AGREED = {
    "true": True, "True": True, "FALSE": False, "null": None, "~": None, "0": 0, "-0": 0, "+3": 3, "8000": 8000,
    "1.5": 1.5, ".5": 0.5, "5.": 5.0, "1.0e+3": 1000.0, "-2.25e-2": -0.0225, "spark-a": "spark-a", "fd00::2": "fd00::2",
    "192.0.2.11": "192.0.2.11", "30m": "30m", "9.5GiB": "9.5GiB", "nO": "nO", "tRUE": "tRUE", "80%": "80%",
    "sha256:ab": "sha256:ab", "1.2.3": "1.2.3", "e5": "e5", "0xZZ": "0xZZ", "--x": "--x",
}  # fmt: skip
REFUSED = {
    "no": 'false, or "no" in quotes for the text',
    "NO": 'false, or "NO" in quotes for the text',
    "Off": 'false, or "Off" in quotes for the text',
    "y": 'true, or "y" in quotes for the text',
    "on": 'true, or "on" in quotes for the text',
    "22:30": '"22:30" in quotes',
    "1:30:00.5": '"1:30:00.5" in quotes',
    "010": '10, or "010" in quotes for the text',
    "-07": '-7, or "-07" in quotes for the text',
    "+00": '0, or "+00" in quotes for the text',
    "0x1F": '31, or "0x1F" in quotes for the text',
    "-0xff": '-255, or "-0xff" in quotes for the text',
    "0b101": '5, or "0b101" in quotes for the text',
    "0o17": '15, or "0o17" in quotes for the text',
    "0xffffffffffffffffffffffff": '"0xffffffffffffffffffffffff" in quotes',
    "1_000": '1000, or "1_000" in quotes for the text',
    "1_0.5": '10.5, or "1_0.5" in quotes for the text',
    "1e3": '1000, or "1e3" in quotes for the text',
    "1.5e3": '1500.0, or "1.5e3" in quotes for the text',
    "-.5": '-0.5, or "-.5" in quotes for the text',
    "+.25": '0.25, or "+.25" in quotes for the text',
    "1e-7": '"1e-7" in quotes',
    "1e999": 'a smaller number, or "1e999" in quotes for the text',
    "9" * 70: "a smaller number, or quotes around it for the text",
    "9" * 19: f'a smaller number, or "{"9" * 19}" in quotes for the text',
    ".inf": 'a finite number, or ".inf" in quotes for the text',
    "-.Inf": 'a finite number, or "-.Inf" in quotes for the text',
    ".NaN": 'a finite number, or ".NaN" in quotes for the text',
    "._": '"._" in quotes',
    "-._1e+3": '"-._1e+3" in quotes',
    "2025-01-31": '"2025-01-31" in quotes',
    "2025-01-31T10:00:00Z": '"2025-01-31T10:00:00Z" in quotes',
    "=": '"=" in quotes',
    "<<": '"<<" in quotes',
}


@pytest.mark.parametrize("word", AGREED)
def test_what_all_readers_agree_on_is_taken(word: str) -> None:
    found = scalars.read(word)
    assert found == AGREED[word]
    assert type(found) is type(AGREED[word])


@pytest.mark.parametrize("word", REFUSED)
def test_what_they_differ_on_is_refused_with_what_to_write(word: str) -> None:
    with pytest.raises(scalars.SurpriseError) as refusal:
        scalars.read(word)
    assert str(refusal.value) == REFUSED[word]


@pytest.mark.parametrize("word", [word for word, write in REFUSED.items() if write[0] in "-0123456789tf"])
def test_what_is_to_be_written_instead_is_itself_taken(word: str) -> None:
    instead = REFUSED[word].partition(",")[0]
    scalars.read(instead)


def _pyyaml(word: str) -> Any:
    return yaml.safe_load(word)


def _ruamel(word: str) -> Any:
    return YAML(typ="safe", pure=True).load(io.StringIO(word))


WORDS = st.text("0123456789+-._:eExXoObBaAfFnNuUlLyYsStTrRiIzZ~=<T", min_size=1, max_size=12)


@given(WORDS | st.sampled_from([*AGREED, *REFUSED]))
@settings(deadline=None)
def test_a_taken_word_is_the_same_to_pyyaml_and_to_ruamel(word: str) -> None:
    try:
        found = scalars.read(word)
    except scalars.SurpriseError:
        return
    for reader, errors in ((_pyyaml, (yaml.YAMLError, ValueError)), (_ruamel, (YAMLError, ValueError))):
        try:
            other = reader(word)
        except errors:
            continue  # no plain word at all, such as `-: x`
        if isinstance(other, dict | list):
            continue
        assert repr(other) == repr(found), reader.__name__
