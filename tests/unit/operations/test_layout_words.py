"""What a person writes to `floor layout`, and what is said to what cannot be meant."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from floor.errors import UsageError
from floor.layout.cards import GIB, named
from floor.layout.fleet import Place
from floor.layout.traffic import Request
from floor.operations import layout_names as names
from floor.operations import layout_words as words
from tests.unit.layout.fleets import sparks, want


def test_boxes_are_written_with_their_cards() -> None:
    assert words.box("spark-a=gb10") == Place("spark-a", (named("gb10"),))
    assert words.box("rig=rtx-3090x4").cards == (named("rtx-3090"),) * 4
    assert words.box("rig=rtx-3090x2+rtx-3060").cards == (named("rtx-3090"),) * 2 + (named("rtx-3060"),)
    full = words.box("b=gb10,others=22GiB,keep_free=9.5GiB,utilization=0.74,fabric=no")
    assert full == Place("b", (named("gb10"),), 22 * GIB, 9.5 * GIB, 0.74, linked=False)


def test_edits_change_the_model_or_a_box() -> None:
    changed, places = words.edit(
        "kv_cache=auto,context=131072,spark-b=rtx-5090x4,spark-a.others=1GiB", want(), sparks()
    )
    assert (changed.kv_cache, changed.context) == ("auto", 131_072)
    assert places[0].others == GIB
    assert (len(places[1].cards), places[1].others) == (4, 0)
    assert words.edit("quant=bf16", want(), sparks())[0].weights.total > 3 * want().weights.total
    assert words.edit("weights=35.5GiB", want(), sparks())[0].weights.total == pytest.approx(35.5 * GIB)
    assert words.edit("drafts=0,at_once=3", want(), sparks())[0].drafts == 0


def test_curves_are_by_requests() -> None:
    found = names.curve("flagship@spark-a=1:36,4:82.5", [want()], sparks())
    assert found == ("flagship@spark-a", {1: 36.0, 4: 82.5})
    group = names.curve("flagship@spark-b+spark-a=1:50", [want()], sparks())
    assert group[0] == "flagship@spark-a+spark-b"
    group = names.curve("flagship@spark-a+spark-b=1:50", [want(group=("spark-b", "spark-a"))], sparks())
    assert group[0] == "flagship@spark-b+spark-a"


@pytest.mark.parametrize(
    "name", ["other@spark-a", "flagship@mars", "flagship@spark-a+spark-a", "flagship@spark-a+mars"]
)
def test_a_curve_of_no_backend_is_not_ignored(name: str) -> None:
    assert _said(lambda: names.curve(f"{name}=1:36", [want()], sparks())) == (
        f"--curve {name}=1:36: there is no backend {name}; write MODEL@BOX or MODEL@BOX+BOX of "
        "flagship @ spark-a, spark-b"
    )


@pytest.mark.parametrize("text", ["=x", "flagship=", "Flag ship=x", "a@b=x"])
def test_a_model_s_folder_that_cannot_be_meant(text: str) -> None:
    assert _said(lambda: names.folder(text)).startswith(f"{text}: write NAME=FOLDER, such as flagship=./weights")


def _chance() -> Callable[[], float]:
    return random.Random(1).random  # noqa: S311 - traffic, not secrets


def test_traffic_is_stated_or_read(tmp_path: Path) -> None:
    stated = words.simulated("rate=2,prompt=100,answer=10,minutes=1", _chance())
    assert 80 < len(stated.requests) < 160
    assert all(50 <= request.prompt <= 150 for request in stated.requests)
    crowd = words.simulated("users=3,requests=50", _chance())
    assert (crowd.users, len(crowd.requests)) == (3, 50)
    file = tmp_path / "t.jsonl"
    file.write_text('{"at": 1, "prompt": 3, "answer": 1}\n')
    assert words.simulated(str(file), _chance()).requests == (Request(1, 3, 1),)


def _said(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        call()
    return str(caught.value)


BOXES = [
    ("spark-a", "--box spark-a: write NAME=CARD, such as spark-a=gb10 or rig=rtx-3090x4,others=2GiB"),
    ("a=gb11", "card 'gb11': it is not in the table; write one of gb10, thor,"),
    ("a b=gb10", "--box a b=gb10: write NAME=CARD"),
    ("a=gb10x2", "gb10x2: a card that shares the memory of its machine is the only one there; write a box each"),
    ("a=gb10x99", "gb10x99: found 99 cards; write at most 16"),
    ("a=gb10,others", "--box a=gb10,others: found 'others'; write KEY=VALUE, with commas between several"),
    ("a=gb10,others=5", "a.others: found '5'; write a size with its unit (KiB, MiB, GiB or TiB), such as 9.5GiB"),
    ("a=gb10,utilization=2", "a.utilization: found 2; write a share above 0 and at most 1"),
    ("a=gb10,utilization=x", "a.utilization: found utilization 'x'; write a number above 0"),
    ("a=gb10,colour=red", "a.colour=red: write others=SIZE, keep_free=SIZE, utilization=SHARE or fabric=no"),
]


@pytest.mark.parametrize(("text", "says"), BOXES)
def test_a_box_that_cannot_be_meant(text: str, says: str) -> None:
    assert says in _said(lambda: words.box(text))


EDITS = [
    ("colour=red", "--what-if colour=red: found 'colour', no box and no setting; write a box or one of context, "),
    ("context", "--what-if context: found 'context'; write KEY=VALUE, with commas between several"),
    ("context=0", "--what-if context=0: found context '0'; write a whole number of at least 1"),
    ("context=many", "found context 'many'; write a whole number of at least 1"),
    ("context=300000", "--what-if context=300000: flagship allows requests of 262144 tokens; found 300000"),
    ("kv_cache=int3", "found kv_cache 'int3'; write one of auto, fp8, "),
    ("quant=q1", "found quant 'q1'; write one of f32, bf16, "),
    ("weights=71", "found '71'; write a size with its unit"),
    ("spark-a.colour=red", "spark-a.colour=red: write others=SIZE"),
    ("spark-a=gb11", "card 'gb11': it is not in the table"),
]


@pytest.mark.parametrize(("text", "says"), EDITS)
def test_an_edit_that_cannot_be_meant(text: str, says: str) -> None:
    assert says in _said(lambda: words.edit(text, want(), sparks()))


@pytest.mark.parametrize("text", ["flagship=1:36", "a@b", "a@b=1", "a@b=0:5", "a@b=1:0", "a@b=x:1"])
def test_a_curve_that_cannot_be_meant(text: str) -> None:
    assert _said(lambda: names.curve(text, [want()], sparks())).startswith(
        f"--curve {text}: write BACKEND=REQUESTS:SPEED,…"
    )


TRAFFIC = [
    ("no-such-file", "--simulate no-such-file: cannot be read ("),
    ("rate=1,users=2", "--simulate rate=1,users=2: write either rate= (requests a second) or users="),
    ("prompt=5", "write either rate="),
    ("rate=0", "found rate '0'; write a number above 0"),
    ("rate=1,colour=2", "found 'colour'; write rate, users, prompt, answer, minutes or requests"),
    ("users=0.5", "found users '0.5'; write a whole number of at least 1"),
    ("rate=1,prompt=0.2", "found prompt '0.2'; write a whole number of at least 1"),
    ("users=2,requests=30000", "--simulate users=2,requests=30000: found requests 30000; write at most 20,000"),
    ("rate=1000,minutes=600", "that would be more than 20,000 requests; write fewer minutes"),
]


@pytest.mark.parametrize(("text", "says"), TRAFFIC)
def test_traffic_that_cannot_be_meant(text: str, says: str) -> None:
    assert says in _said(lambda: words.simulated(text, _chance()))
