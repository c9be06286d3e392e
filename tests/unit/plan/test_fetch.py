"""Who gets what from where: once over the internet, never a disk that is too small, never over other weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.box.manifest import Origin
from floor.config import parse
from floor.plan import fetch
from floor.plan.fetch import HUB, FolderSeen, Image, Round, Transfer, Tried, Weights

ORIGIN = Origin("org/flagship", "a" * 40)
OTHER = Origin("org/flagship", "b" * 40)
NAMES = ("spark-a", "spark-b", "spark-c", "spark-d", "spark-e")
FREE = 1 << 40


def goal(*boxes: str, origin: Origin = ORIGIN) -> Weights:
    return Weights(origin, ("flagship",), dict.fromkeys(boxes, "/models/flagship"))


def folder(whole: bool = False, **more: object) -> FolderSeen:
    seen = FolderSeen(exists=whole, origin=ORIGIN if whole else None, free=FREE)
    return dataclasses.replace(seen, **more)  # type: ignore[arg-type]


def test_where_nobody_has_it_one_box_asks_the_hub() -> None:
    seen = {box: folder() for box in NAMES[:3]}
    assert fetch.next_weights(goal(*seen), seen, Tried()) == Round((Transfer("spark-a", HUB),))


def test_the_box_that_has_come_furthest_asks_first() -> None:
    seen = {"spark-a": folder(), "spark-b": folder(partial=5)}
    assert fetch.next_weights(goal(*seen), seen, Tried()).transfers == (Transfer("spark-b", HUB),)


def test_a_box_without_internet_is_passed_over() -> None:
    seen, tried = {box: folder() for box in NAMES[:2]}, Tried({("spark-a", HUB)})
    assert fetch.next_weights(goal(*seen), seen, tried).transfers == (Transfer("spark-b", HUB),)
    tried.add(Transfer("spark-b", HUB))
    assert fetch.next_weights(goal(*seen), seen, tried) == Round(stuck=("spark-a", "spark-b"))


def test_the_others_take_from_a_box_that_has_it() -> None:
    seen = {"spark-a": folder(True), "spark-b": folder(), "spark-c": folder()}
    assert fetch.next_weights(goal(*seen), seen, Tried()).transfers == (
        Transfer("spark-b", "spark-a"),
        Transfer("spark-c", "spark-a"),
    )


def test_where_a_box_cannot_be_reached_by_another_the_hub_is_the_last_way() -> None:
    seen = {"spark-a": folder(True), "spark-b": folder()}
    tried = Tried({("spark-b", "spark-a")})
    assert fetch.next_weights(goal(*seen), seen, tried).transfers == (Transfer("spark-b", HUB),)
    tried.add(Transfer("spark-b", HUB))
    assert fetch.next_weights(goal(*seen), seen, tried) == Round(stuck=("spark-b",))


@pytest.mark.parametrize("harm", [{"changed": ("x",)}, {"incomplete": "1 files: x"}, {"origin": OTHER}])
def test_a_box_whose_files_are_not_right_gives_nothing(harm: Mapping[str, object]) -> None:
    seen = {"spark-a": folder(True, **harm), "spark-b": folder(True)}
    assert fetch.next_weights(goal(*seen), seen, Tried()).transfers == (Transfer("spark-a", "spark-b"),)


@given(
    st.lists(st.booleans(), min_size=1, max_size=5), st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)))
)
def test_whatever_cannot_be_reached_it_ends_and_the_internet_is_used_as_little_as_can_be(
    have: list[bool], broken: set[tuple[str, str]]
) -> None:
    """Transfers over `broken` pairs fail, all others succeed."""
    seen = {box: folder(whole) for box, whole in zip(NAMES, have, strict=False)}
    tried, hub = Tried(), list[str]()
    for _ in range(40):
        turn = fetch.next_weights(goal(*seen), seen, tried)
        assert len({transfer.box for transfer in turn.transfers}) == len(turn.transfers)
        if not turn.transfers:
            break
        for transfer in turn.transfers:
            if transfer.source == HUB:
                hub.append(transfer.box)
            if (transfer.box, transfer.source) in broken:
                tried.add(transfer)
            else:
                assert transfer.source == HUB or seen[transfer.source].whole(ORIGIN)
                seen[transfer.box] = folder(True)
    assert all(found.whole(ORIGIN) for found in seen.values())
    if not broken:
        assert len(hub) == (0 if any(have) else 1)


def test_at_most_two_take_from_one_at_a_time() -> None:
    seen = {"spark-a": folder(True), **{box: folder() for box in NAMES[1:]}}
    turn = fetch.next_weights(goal(*seen), seen, Tried())
    assert [transfer.box for transfer in turn.transfers] == ["spark-b", "spark-c"]
    assert turn.stuck == ()


def image(reference: str = "vllm:v1", *boxes: str) -> Image:
    return Image(reference, ("flagship",), boxes or ("spark-a", "spark-b"))


def test_an_image_with_a_tag_is_pulled_once_and_carried() -> None:
    nobody: dict[str, str | None] = {"spark-a": None, "spark-b": None}
    assert fetch.next_image(image(), nobody, {}, Tried()).transfers == (Transfer("spark-a", HUB),)
    one = {**nobody, "spark-a": "sha256:1"}
    assert fetch.next_image(image(), one, {}, Tried()).transfers == (Transfer("spark-b", "spark-a"),)
    assert fetch.next_image(image(), {**one, "spark-b": "sha256:1"}, {}, Tried()) == Round()


def test_an_image_by_digest_is_carried_only_where_docker_keeps_digests() -> None:
    """moby/moby#22011: what `docker load` brings has no digest in docker's own image store."""
    by_digest = image(f"vllm@sha256:{'a' * 64}")
    one: dict[str, str | None] = {"spark-a": "sha256:1", "spark-b": None}
    assert fetch.next_image(by_digest, one, {}, Tried()).transfers == (Transfer("spark-b", HUB),)
    assert fetch.next_image(by_digest, one, {"spark-b": True}, Tried()).transfers == (Transfer("spark-b", "spark-a"),)
    assert fetch.next_image(by_digest, one, {}, Tried({("spark-b", HUB)})) == Round(stuck=("spark-b",))


def test_a_folder_with_another_revision_is_named() -> None:
    seen = {("spark-a", "/models/flagship"): folder(True, origin=OTHER)}
    [line] = fetch.refusals([goal("spark-a")], seen)
    assert line == (
        "spark-a: /models/flagship holds org/flagship at bbbbbbbbbbbb, floor.yaml says org/flagship at aaaaaaaaaaaa; "
        "write another `source` for it, so that copies can change over one after the other, or move that folder away"
    )
    assert fetch.refusals([goal("spark-a", origin=OTHER)], seen) == []


GIB = 1 << 30


@pytest.mark.parametrize(
    ("seen", "short"),
    [
        ({"free": 71 * GIB}, False),
        ({"free": 70 * GIB}, True),
        ({"free": 30 * GIB, "partial": 41 * GIB}, False),
        ({"free": 2 * GIB, "origin": ORIGIN, "exists": True, "bytes": 69 * GIB, "changed": ("x",)}, False),
        ({"free": 0, "origin": ORIGIN, "exists": True}, False),
    ],
)
def test_room_is_what_has_not_come_yet(seen: Mapping[str, object], short: bool) -> None:
    found = fetch.shortages([goal("spark-a")], {ORIGIN: 70 * GIB}, {("spark-a", "/models/flagship"): folder(**seen)})
    assert bool(found) == short
    if short:
        assert found == [
            "spark-a: /models/flagship needs 70.2 GiB, its disk has 70.0 GiB free; make room, or write another `source`"
        ]


def test_two_folders_on_one_disk_share_its_room() -> None:
    goals = [goal("spark-a"), dataclasses.replace(goal("spark-a", origin=OTHER), places={"spark-a": "/models/b"})]
    seen = {("spark-a", place): folder(free=100 * GIB, device=7) for place in ("/models/flagship", "/models/b")}
    sizes = {ORIGIN: 60 * GIB, OTHER: 60 * GIB}
    assert "needs 120.2 GiB" in fetch.shortages(goals, sizes, seen)[0]
    seen["spark-a", "/models/b"] = folder(free=100 * GIB, device=8)
    assert fetch.shortages(goals, sizes, seen) == []


CONFIG = """\
boxes:
  spark-a: {host: 192.0.2.11}
  spark-b: {host: 192.0.2.12}
  mac: {host: 192.0.2.20, managed: false}
models:
  flagship:
    source: /models/flagship
    fetch: {repo: org/flagship, revision: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}
    utilization: 0.4
    runtime: {kind: docker, image: "vllm:v1"}
    replicas: [spark-a, spark-b, mac]
  small:
    source: /models/small
    fetch: {repo: org/small, revision: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, include: ["*.json"]}
    port: 8001
    listen: 8081
    utilization: 0.1
    runtime: {kind: docker, image: "vllm:v1"}
    replicas: [spark-a, {box: spark-b, source: /models/own}]
proxy: {boxes: [spark-a]}
"""


def test_what_is_wanted_follows_from_the_copies() -> None:
    config = parse(CONFIG)
    flagship, small = fetch.weights_wanted(config, (), ())
    assert (dict(flagship.places), flagship.models) == (dict.fromkeys(NAMES[:2], "/models/flagship"), ("flagship",))
    assert dict(small.places) == {"spark-a": "/models/small"}  # a folder of its own holds other weights
    assert small.origin.include == ("*.json",)
    assert fetch.images_wanted(config, (), ()) == [Image("vllm:v1", ("flagship", "small"), NAMES[:2])]
    assert fetch.weights_wanted(config, ("small",), ("spark-b",)) == []
    assert fetch.images_wanted(config, ("small",), ("spark-b",)) == [Image("vllm:v1", ("small",), ("spark-b",))]


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (2048, "2 KiB"), (1 << 20, "1.0 MiB"), (71 * GIB, "71.0 GiB"), (2**41, "2.0 TiB")],
)
def test_sizes_are_told_in_words(size: int, words: str) -> None:
    assert fetch.told_size(size) == words
