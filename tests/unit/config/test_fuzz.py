"""Whatever a file holds: a configuration or a ConfigError whose lines say where; never another exception."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from floor.config import example
from floor.config.load import decode, examine
from floor.errors import ConfigError

# every option, without the prose: that would be most of the characters and none of the faults
EXAMPLE = re.sub(r"(?m)^ *# .*\n", "", example.read())
LINES = EXAMPLE.splitlines(keepends=True)
# what breaks readers of YAML, configuration files or the systems behind them
NASTY = [
    "\t", "\0", "\ufeff", "\u2028", "\x85", "\ud7ff", "💥", "'", '"', "{", "}", "[", "]", "&a", "*a", "*", "&",
    "!", "!!binary", "!!python/name:os.system", "|", ">", "|2-", "%", "%YAML 1.1\n---\n",
    "%YAML 9999999999999999999999.1\n", "---", "...", "? ", "- ", ": ", "#", ",", "<<", "=", "~", "null", "no",
    "22:30", "010", "1e999", ".inf", ".nan", "0x" + "f" * 50, "9" * 5000, "-0", '"\\0"', '"\\ud800"',
    '"\\UFFFFFFFF"', '"\\x"', "a" * 5000, "[" * 100, "{a: " * 100, "2025-99-99", "$(id)", "`id`", "; rm",
    "../../etc", "\r", "\r\n", "\n", "\n\n", " " * 100, "{{ x }}", "{% x %}", "%s", "%n", "\x1b[31m", "&a [*a]",
    "&a {b: *a}", "[]", "{}", "true", "1.5", "-1", "!<tag:yaml.org,2002:str> x", "@", "`", "--flag",
    "__class__",
]  # fmt: skip
PLACE = re.compile(r"(.* \()?f(:\d+)?(\))?: found .+; write .+", re.DOTALL)


def _examine(raw: bytes) -> None:
    problems: tuple[str, ...] = ()
    try:
        examine(decode(raw, "f"), "f")
    except ConfigError as error:
        problems = error.problems or ("nothing told",)
    for problem in problems:
        assert PLACE.fullmatch(problem), problem
        assert "\n" not in problem
        assert len(problem) < 1000
        problem.encode()


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_random_bytes(raw: bytes) -> None:
    _examine(raw)


@given(st.lists(st.sampled_from([*NASTY, "boxes", "models", "proxy", "a", " ", "  "]), max_size=20))
@settings(max_examples=100, deadline=None)
def test_random_pieces_of_yaml(pieces: list[str]) -> None:
    _examine("".join(pieces).encode("utf-8", "surrogatepass"))


@given(
    st.lists(
        st.tuples(st.integers(0, len(EXAMPLE)), st.integers(0, 30), st.sampled_from(NASTY) | st.text(max_size=5)),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=100, deadline=None)
def test_the_example_with_pieces_replaced(changes: list[tuple[int, int, str]]) -> None:
    text = EXAMPLE
    for at, length, piece in changes:
        text = text[:at] + piece + text[at + length :]
    _examine(text.encode("utf-8", "surrogatepass"))


@given(st.lists(st.sampled_from(LINES), max_size=len(LINES)))
@settings(max_examples=50, deadline=None)
def test_the_examples_lines_in_any_order(lines: list[str]) -> None:
    _examine("".join(lines).encode())


VALUES = st.recursive(
    st.sampled_from(NASTY) | st.integers().map(str) | st.floats().map(str) | st.sampled_from(["[]", "{}", '""', "''"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda some: f"[{', '.join(some)}]")
        | st.dictionaries(st.sampled_from(["a", "box", "kind", "0", "on"]), inner, max_size=3).map(
            lambda some: "{" + ", ".join(f"{key}: {value}" for key, value in some.items()) + "}"
        )
    ),
    max_leaves=5,
)
KEYED = [index for index, line in enumerate(LINES) if re.match(r" *(- )?#?[a-z_]+: ?.*$", line)]


@given(st.sampled_from(KEYED), VALUES)
@settings(max_examples=100, deadline=None)
def test_any_value_for_any_option(index: int, value: str) -> None:
    lines = list(LINES)
    key = lines[index].replace("#", "", 1).partition(":")[0]
    lines[index] = f"{key}: {value}\n"
    _examine("".join(lines).encode("utf-8", "surrogatepass"))
