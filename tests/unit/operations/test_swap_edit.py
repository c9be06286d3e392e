"""What `floor swap` writes into floor.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.config.load import Loaded, parse
from floor.errors import UsageError
from floor.operations.swap_edit import Wish, edited, own
from tests.simulated.situation import SPLIT, TWO_BOXES

FETCHED = TWO_BOXES.replace(
    "    source: /models/flagship\n",
    f"    source: /models/flagship  # ours\n    fetch: {{repo: org/name, revision: '{'a' * 40}'}}\n",
)


def loaded(text: str) -> Loaded:
    return Loaded(parse(text), text, Path("floor.yaml"))


EDITS = [
    (TWO_BOXES, Wish(source="/models/new"), "source: /models/flagship", "source: /models/new"),
    (TWO_BOXES, Wish(image="registry.example/vllm:v2"), "vllm:v1", "vllm:v2"),
    (
        FETCHED,
        Wish(source="/models/new", fetch=f"org/new@{'b' * 40}"),
        "/models/flagship  # ours",
        "/models/new  # ours",
    ),
    (FETCHED, Wish(source="/models/new", fetch="none"), f"{{repo: org/name, revision: '{'a' * 40}'}}", "null"),
]


@pytest.mark.parametrize(("text", "wish", "old", "new"), EDITS)
def test_one_value_becomes_another_and_the_rest_stays(text: str, wish: Wish, old: str, new: str) -> None:
    after = edited(loaded(text), "flagship", wish).text
    assert new in after
    assert old not in after
    assert after.splitlines()[:4] == text.splitlines()[:4]


def test_arguments_are_read_as_json_where_they_can_be() -> None:
    wish = Wish(args=["tool-call-parser=hermes", "--seed=7", "trust-remote-code=true", 'hf-overrides={"a": 1}'])
    config = edited(loaded(TWO_BOXES), "flagship", wish).config
    assert config.models["flagship"].args == {
        "tool-call-parser": "hermes",
        "seed": 7,
        "trust-remote-code": True,
        "hf-overrides": {"a": 1},
    }


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", "[1, NaN]", "[1"])
def test_what_is_no_json_is_a_text(value: str) -> None:
    config = edited(loaded(TWO_BOXES), "flagship", Wish(args=[f"tool-call-parser={value}"])).config
    assert config.models["flagship"].args == {"tool-call-parser": value}


def test_other_weights_are_from_somewhere_else() -> None:
    with pytest.raises(UsageError) as error:
        edited(loaded(FETCHED), "flagship", Wish(source="/models/new"))
    assert str(error.value) == (
        "--to /models/new: floor.yaml says where the present weights come from (fetch: org/name); say where the new "
        "ones do with --fetch ORG/NAME@COMMIT, or --fetch none"
    )


def test_what_a_copy_has_of_its_own_stays_and_is_named() -> None:
    text = SPLIT.replace(
        "replicas: [spark-a, spark-b]",
        "replicas: [spark-a, {box: spark-b, source: /models/b, args: {seed: 3}}]",
    ).replace("tensor_parallel: 2", "tensor_parallel: 2, source: /models/split")
    wish = Wish(source="/models/new", args=["seed=4"])
    assert own(parse(text), "flagship", wish) == [
        "flagship@spark-b has its own source, which stays as it is",
        "flagship@spark-b has its own args.seed, which stays as it is",
        "the split of flagship has its own source, which stays as it is",
    ]
    assert own(parse(TWO_BOXES), "flagship", wish) == []
