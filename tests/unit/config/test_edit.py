"""An edit changes one value and nothing else: not a comment, not a quote, not a column."""

from __future__ import annotations

import difflib
import io
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from floor.config import edit, example, parse, source
from floor.config.problem import KeyPath
from floor.errors import ConfigError

EXAMPLE = example.read()
PAIR = """\
# our pair
boxes:
  spark-a:   {host: 192.0.2.11, ssh: "ops@spark-a"}   # left
  spark-b:   {host: 192.0.2.12, keep_free: 9.5GiB}     # right
models:
  flagship:
    source: '/models/flagship'
    # measured, see the notebook
    utilization: 0.80
    runtime:   # by hand
      kind: native
      command: /opt/vllm/bin/vllm
    replicas: [spark-a, spark-b]
    args: {}
  second:
    source: /models/second
    utilization: 0.1
    listen: 8081
    port: 8001
    runtime: {kind: native, command: /opt/vllm/bin/vllm,
              user: floor}
    replicas:
    - spark-a
    -   box: spark-b   # why not
        weight: 2
proxy: {boxes: [spark-a, spark-b]}
health:
"""


def _changed_lines(old: str, new: str) -> list[str]:
    return [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+-"]


CASES: list[tuple[KeyPath, Any, list[str]]] = [
    (("models", "flagship", "utilization"), 0.74, ["-    utilization: 0.80", "+    utilization: 0.74"]),
    (("models", "flagship", "source"), "/a b", ["-    source: '/models/flagship'", "+    source: '/a b'"]),
    (("models", "flagship", "source"), "/it's", ["-    source: '/models/flagship'", "+    source: '/it''s'"]),
    (
        ("boxes", "spark-a", "ssh"),
        'a "b"',
        [
            '-  spark-a:   {host: 192.0.2.11, ssh: "ops@spark-a"}   # left',
            '+  spark-a:   {host: 192.0.2.11, ssh: "a \\"b\\""}   # left',
        ],
    ),
    (
        ("boxes", "spark-b", "status_port"),
        8098,
        [
            "-  spark-b:   {host: 192.0.2.12, keep_free: 9.5GiB}     # right",
            "+  spark-b:   {host: 192.0.2.12, keep_free: 9.5GiB, status_port: 8098}     # right",
        ],
    ),
    (
        ("models", "flagship", "replicas", 0, "utilization"),
        0.7,
        ["-    replicas: [spark-a, spark-b]", "+    replicas: [{box: spark-a, utilization: 0.7}, spark-b]"],
    ),
    (
        ("models", "second", "replicas", 0, "weight"),
        3,
        ["-    - spark-a", "+    - {box: spark-a, weight: 3}"],
    ),
    (("models", "second", "replicas", 1, "weight"), 3, ["-        weight: 2", "+        weight: 3"]),
    (("models", "second", "replicas", 1, "port"), 8002, ["+        port: 8002"]),
    (("models", "second", "replicas", 2), {"box": "desk"}, ["+    - {box: desk}"]),
    (
        ("models", "flagship", "replicas", 2),
        "desk",
        ["-    replicas: [spark-a, spark-b]", "+    replicas: [spark-a, spark-b, desk]"],
    ),
    (
        ("models", "second", "replicas", 1),
        "desk",
        ["-    -   box: spark-b   # why not", "-        weight: 2", "+    -   desk"],
    ),
    (("models", "flagship", "args", "seed"), 1, ["-    args: {}", "+    args: {seed: 1}"]),
    (("models", "flagship", "env"), {"A": "1", "B": "no"}, ['+    env: {A: "1", B: "no"}']),
    (("models", "second", "split", "boxes"), ["spark-a", "spark-b"], ["+    split: {boxes: [spark-a, spark-b]}"]),
    (
        ("models", "second", "runtime", "user"),
        "vllm",
        ["-              user: floor}", "+              user: vllm}"],
    ),
    (
        ("models", "flagship", "runtime"),
        {"kind": "docker", "image": "registry.example/vllm:v1"},
        [
            "-    runtime:   # by hand",
            "-      kind: native",
            "-      command: /opt/vllm/bin/vllm",
            "+    runtime: {kind: docker, image: registry.example/vllm:v1}   # by hand",
        ],
    ),
    (("health", "stall"), "10m", ["-health:", "+health: {stall: 10m}"]),
    (("boxes", "desk"), {"host": "fd00::2"}, ["+  desk: {host: fd00::2}"]),
    (
        ("proxy", "address"),
        None,
        ["-proxy: {boxes: [spark-a, spark-b]}", "+proxy: {boxes: [spark-a, spark-b], address: null}"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "lines"), CASES, ids=lambda one: ".".join(map(str, one)) if isinstance(one, tuple) else ""
)
def test_only_these_lines_change(path: KeyPath, value: Any, lines: list[str]) -> None:
    changed = edit.set_value(PAIR, path, value)
    assert sorted(line[0] + line[2:] for line in _changed_lines(PAIR, changed)) == sorted(lines)


def test_the_same_value_changes_nothing() -> None:
    assert edit.set_value(PAIR, ("models", "flagship", "utilization"), 0.8) is PAIR


def test_a_default_in_a_comment_has_the_new_line_below_it() -> None:
    changed = edit.set_value(EXAMPLE, ("health", "stall"), "10m")
    assert _changed_lines(EXAMPLE, changed) == ["+   stall: 10m"]
    assert "  #stall: 5m\n  stall: 10m\n" in changed


def test_a_new_item_stands_behind_the_comments_of_the_one_before() -> None:
    changed = edit.set_value(EXAMPLE, ("models", "flagship", "replicas", 3), "desk")
    assert "        #key: none\n      - desk\n" in changed


@pytest.mark.parametrize("text", [PAIR.rstrip("\n"), PAIR.replace("\n", "\r\n"), PAIR + "\n\n# the end"])
def test_line_ends_stay_as_they_are(text: str) -> None:
    changed = edit.set_value(text, ("models", "second", "seed"), 1)
    newline = "\r\n" if "\r\n" in text else "\n"
    assert changed.replace(f"{newline}    seed: 1", "") == text
    assert edit.set_value(text, ("health",), {"stall": "5m"}).count("\r") == text.count("\r")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: &x {c: 1}\nb: *x\n", ("a", "c")),
        ("a: &x {c: 1}\nb: *x\n", ("b", "c")),
        ("a: &x 1\nb: *x\n", ("a",)),
    ],
)
def test_a_value_that_others_share_is_left_alone(text: str, path: KeyPath) -> None:
    with pytest.raises(
        ConfigError, match=r"^[ab.c]+ \(f:[12]\): found a value that cannot be changed alone; write it by hand: 2$"
    ):
        edit.set_value(text, path, 2, "f")


@pytest.mark.parametrize("path", [("a", "b"), ("a", 0), ("l", "x"), ("l", 2), ("l", -1)])
def test_there_must_be_a_place_for_it(path: KeyPath) -> None:
    with pytest.raises(ConfigError, match=r"^f: found no place for .+; write it by hand: 2$"):
        edit.set_value("a: 1\nl: [x]\n", path, 2, "f")


def test_a_text_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^f:1: found an end where a value belongs; write the value, and what closes it$"
    ):
        edit.set_value("a: {", ("a",), 1, "f")


def test_the_diff_is_what_people_know() -> None:
    changed = edit.set_value("a: 1\nb: 2", ("b",), 3)
    assert edit.diff("a: 1\nb: 2", changed, "f") == (
        "--- f\n+++ f (new)\n@@ -1,2 +1,2 @@\n a: 1\n"
        "-b: 2\n\\ No newline at end of file\n+b: 3\n\\ No newline at end of file\n"
    )
    assert edit.diff("a: 1\n", "a: 1\n") == ""


def test_an_edited_example_is_still_a_configuration() -> None:
    text = EXAMPLE
    text = edit.set_value(text, ("models", "flagship", "replicas", 0, "utilization"), 0.7)
    text = edit.set_value(text, ("models", "flagship", "runtime", "image"), f"registry.example/vllm@sha256:{'a' * 64}")
    text = edit.set_value(text, ("health", "stall"), "10m")
    config = parse(text)
    assert [copy.utilization for copy in config.copies("flagship")] == [0.7, 0.74, None]
    assert config.health.stall == 600


def _paths(data: Any, path: KeyPath = ()) -> list[KeyPath]:
    items = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    return [path, *(inner for key, value in items for inner in _paths(value, (*path, key)))]


def _comments(text: str) -> list[str]:
    return re.findall(r"(?m)(?:^|\s)#.*$", text)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
KEYS = st.text(min_size=1, max_size=5)
VALUES = st.recursive(
    SCALARS, lambda some: st.lists(some, max_size=3) | st.dictionaries(KEYS, some, max_size=3), max_leaves=5
)
TEXTS = st.sampled_from([PAIR, re.sub(r"(?m)^ *# .*\n", "", EXAMPLE)])


@given(TEXTS, st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_is_edited_nothing_else_changes(text: str, data: st.DataObject) -> None:
    before, _ = source.read(text, "f")
    path = data.draw(st.sampled_from([path for path in _paths(before.data) if path]))
    old: Any = before.data
    for key in path:
        old = old[key]
    value = data.draw(VALUES.filter(_holdable))
    changed = edit.set_value(text, path, value)
    after, problems = source.read(changed, "f")
    assert problems == []
    assert _without(after.data, path) == _without(before.data, path)
    if not isinstance(old, dict | list) and "#" not in repr(value):
        assert _comments(changed) == _comments(text)
    if changed == text:
        return
    # an independent reader of YAML 1.2 finds the same value there
    other: Any = YAML(typ="safe", pure=True).load(io.StringIO(changed))
    for key in path:
        other = other[key]
    assert other == value


def _holdable(value: Any) -> bool:
    """NUL and half characters cannot be in a floor.yaml."""
    return not re.search(r"[\x00-\x08\x0b-\x1f\ud800-\udfff]", "".join(_texts(value)))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (*_texts(key), *_texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def _without(data: Any, path: KeyPath) -> Any:
    if not path:
        return None
    if isinstance(data, dict):
        return {key: _without(value, path[1:]) if key == path[0] else value for key, value in data.items()}
    return [_without(value, path[1:]) if index == path[0] else value for index, value in enumerate(data)]
