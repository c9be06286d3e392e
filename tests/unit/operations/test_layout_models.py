"""The models of a file as layouts see them: those that cannot be read keep nobody from an answer, and each copy is
looked at as it is cut, on the cards that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from floor.config.load import Loaded, examine
from floor.config.model import Config
from floor.errors import FloorError
from floor.layout.cards import CARDS, GIB
from floor.layout.fit import constants
from floor.layout.fleet import MEASURED, Measured, Place
from floor.layout.layouts import find
from floor.layout.ledger import Books
from floor.layout.weights import computed
from floor.operations import layout, layout_models, layout_warnings
from floor.operations.layout_words import Asked
from floor.operations.site import Site
from tests.unit.layout.models import config, published

BOXES = """\
boxes:
  rig: {host: 192.0.2.11, fabric: {interface: fab0, address: 198.51.100.1}}
  big: {host: 192.0.2.12, fabric: {interface: fab0, address: 198.51.100.2}}
  mac: {host: 192.0.2.13, managed: false}
models:
"""
CODER = """\
  coder:
    source: /models/coder
    context: 32768
    utilization: 0.85
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    replicas: [rig]
"""
OTHERS = """\
  studio:
    listen: 8081
    replicas: [{box: mac, url: "http://192.0.2.13:8001"}]
  embed:
    engine: ollama
    source: /models/ollama
    port: 8002
    listen: 8082
    runtime: {kind: native, command: /usr/bin/ollama}
    replicas: [rig]
"""
END = "proxy: {boxes: [rig]}\n"
RTX = [{"name": "NVIDIA GeForce RTX 3090", "total": int(23.6 * GIB), "used": 0, "driver": "580"}]


class _Site:
    """A site whose boxes answer from a table."""

    def __init__(self, text: str, answers: Mapping[str, Any]) -> None:
        self.loaded = Loaded(examine(text, "floor.yaml")[0], text, Path("floor.yaml"), ())
        self.boxes = {name: name for name in answers}
        self.answers = answers

    def each(self, asked: Mapping[str, Any], _call: Callable[..., Any]) -> dict[str, Any]:
        return {box: {**self.answers[box], "sources": {one: _weights() for one in asked[box]}} for box in asked}


def _weights() -> dict[str, Any]:
    sizes = computed(published("qwen3-coder-30b"), 8.5)
    each = enumerate(zip(sizes.dense, sizes.experts, strict=True))
    tensors = {f"model.layers.{n}.weight": int(dense + experts) for n, (dense, experts) in each}
    return {"config": config("qwen3-coder-30b"), "tensors": tensors, "gguf": False}


def _told(gpus: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"memory": {"total": 125 * GIB, "available": 120 * GIB}, "gpus": gpus, "logged": {}, **more}


def _site(models: str, gpus: int = 4) -> Site:
    return cast("Site", _Site(BOXES + models + END, {"rig": _told(RTX * gpus), "big": _told(RTX * gpus)}))


def _question(site: Site, *names: str) -> layout.Question:
    return layout.question(Asked(names), lambda: site.loaded, lambda: site)


def test_models_without_weights_to_read_are_left_out_by_name() -> None:
    found = _question(_site(CODER + OTHERS))
    assert [want.name for want in found.wants] == ["coder"]
    said = [line for line in found.warnings if line.startswith("no layout of ")]
    lies = "its weights lie in no folder of a box that floor manages"
    assert said == [f"no layout of {name}: {lies}; write {name}=FOLDER for them" for name in ("studio", "embed")]
    with pytest.raises(FloorError, match="studio: its weights lie in no folder"):
        _question(_site(CODER + OTHERS), "studio")
    with pytest.raises(FloorError, match="embed: its weights lie in no folder"):
        _question(_site(OTHERS))


SPLIT = CODER.replace("replicas: [rig]", "split: {boxes: [big, rig], tensor_parallel: 4}")


def test_a_model_that_is_only_split_has_a_layout_and_its_group_keeps_its_head() -> None:
    found = _question(_site(SPLIT, 2))
    (want,) = found.wants
    assert want.group == ("big", "rig")
    titles = [one.title for one in find(Books(want, constants()), found.places).layouts]
    assert "split by tensor over big + rig" in titles


def test_others_are_warned_though_one_model_cannot_be_read() -> None:
    wrong = CODER.replace("context: 32768", "context: 300000") + OTHERS
    lines = layout_warnings.found(_site(wrong))
    assert lines[0] == "coder@rig: no request could use a context of 300,000: the model takes 262,144"
    assert [line.split(": ")[:2] for line in lines[1:]] == [["not looked at", "studio"], ["not looked at", "embed"]]


WARNED = [
    ("", "coder@rig: no request of 32,768 tokens could be held: its weights alone do not fit; "),
    ("args: {tensor-parallel-size: 4}", None),
    ("args: {tensor-parallel-size: 4}\n    cache_memory: 64MiB", "could be held: its cache has room for 2,"),
    ("args: {tensor-parallel-size: 8}", "coder@rig: takes 8 cards; rig has 4 for it"),
    ("args: {tensor-parallel-size: 2}\n    env: {CUDA_VISIBLE_DEVICES: '1'}", "coder@rig: takes 2 cards; rig has 1"),
    ("args: {pipeline-parallel-size: 4}", None),
    (
        "args: {pipeline-parallel-size: 4}\n    env: {VLLM_PP_LAYER_PARTITION: '18,10,10,10'}",
        "its stretch of 18 layers on rig takes 1.5 times the mean",
    ),
]


@pytest.mark.parametrize(("more", "says"), WARNED)
def test_a_copy_is_looked_at_as_the_file_has_it(more: str, says: str | None) -> None:
    lines = layout_warnings.found(
        _site(CODER.replace("    runtime", f"    {more}\n    runtime" if more else "    runtime"))
    )
    assert len(lines) == (says is not None)
    assert says is None or says in lines[0]


def test_a_share_that_nobody_wrote_is_the_engine_s_own() -> None:
    bare = CODER.replace("    utilization: 0.85\n", "")
    assert "its weights alone do not fit" in layout_warnings.found(_site(bare))[0]


CUTS = [
    ("", (1, (48,))),
    ("args: {tensor-parallel-size: 2, pipeline-parallel-size: 2}", (2, (24, 24))),
    ("args: {pipeline-parallel-size: 5}", (1, (9, 10, 10, 10, 9))),
    ("args: {pipeline-parallel-size: 2}\n    env: {VLLM_PP_LAYER_PARTITION: '40,8'}", (1, (40, 8))),
    ("args: {tensor-parallel-size: some}", None),
]


@pytest.mark.parametrize(("more", "is_cut"), CUTS)
def test_how_a_copy_is_cut(more: str, is_cut: Any) -> None:
    text = BOXES + CODER.replace("    runtime", f"    {more}\n    runtime" if more else "    runtime") + END
    parsed = examine(text, "floor.yaml")[0]
    assert layout_models.cut(parsed, parsed.copies("coder")[0], 48) == is_cut


def _parsed(text: str) -> Config:
    return examine(BOXES + text + END, "floor.yaml")[0]


def test_models_that_are_not_asked_for_keep_their_part_of_the_cards() -> None:
    place = Place("rig", (CARDS["rtx-3090"],) * 4, origin=MEASURED)
    two = CODER.replace("    runtime", "    args: {tensor-parallel-size: 2}\n    runtime")
    beside = layout_models.others_of(_parsed(two), place, ["other"])
    taken = 0.85 * CARDS["rtx-3090"].memory
    assert [card.taken for card in beside.cards] == pytest.approx([taken, taken, 0, 0])
    assert layout_models.others_of(_parsed(two), place, ["coder"]) == place
    by_id = two.replace("    runtime", "    env: {CUDA_VISIBLE_DEVICES: '2,3'}\n    runtime")
    assert [card.taken > 0 for card in layout_models.others_of(_parsed(by_id), place, []).cards] == [False] * 2 + [
        True
    ] * 2


def test_what_was_measured_of_one_cut_says_nothing_of_another() -> None:
    """A copy on one card of four was measured; the layout that is found has all four."""
    site = _site(CODER)
    (want,) = _question(site).wants
    place = Place("rig", (CARDS["rtx-3090"],) * 4)
    one, four = (
        Measured(overhead={"activations": 1.0, "runtime": 0.0, "graphs": 0.0}, start=7.0, cut=(tp, (48,)))
        for tp in (1, 4)
    )
    for known, counts in ((one, False), (four, True)):
        told = replace(want, measured={"coder@rig": known})
        (backend,) = find(Books(told, constants()), [place]).layouts[0].backends
        assert backend.tp == 4
        assert (backend.starts == 7.0) is backend.started is counts
        assert (backend.uses[0].overhead.origin == MEASURED) is counts


def test_a_copy_with_another_context_than_is_computed_is_named() -> None:
    text = CODER.replace("replicas: [rig]", "replicas: [rig, {box: big, context: 4096, kv_cache: fp8}]")
    (line,) = [line for line in _question(_site(text)).warnings if "in the file" in line]
    own = "has context 4096 and kv_cache fp8 in the file"
    assert line == f"coder@big {own}; it is computed as the others of its model"


USED = [
    (0, True, 0),
    (21, True, 0.94),  # the copy that runs, and its processes' own
    (20, True, 0),  # it has not used all of its share yet
    (5, True, 5),  # less than half of it: it does not run
    (5, False, 5),
]


@pytest.mark.parametrize(("used", "ours", "others"), USED)
def test_what_others_have_on_a_card_is_not_there(used: float, ours: bool, others: float) -> None:
    """0.85 of 23.6 GiB is 20.06 GiB."""
    parsed = _parsed(CODER if ours else CODER.replace("[rig]", "[big]"))
    place = Place("rig", (CARDS["rtx-3090"],) * 2)
    seen = layout_models.seen(parsed, place, [{"used": int(used * GIB)}, {"used": None}])
    assert seen.cards[0].others / GIB == pytest.approx(others, abs=0.01)
    assert seen.cards[1].others == 0
    assert seen.usable(seen.cards[0]) == pytest.approx(min(0.9 * 23.6, 23.6 - others) * GIB, abs=0.01 * GIB)


def test_a_card_that_others_have_filled_is_left_out_of_a_layout() -> None:
    full = [{**RTX[0], "used": int(20 * GIB)}, *RTX * 3]
    site = cast("Site", _Site(BOXES + CODER.replace("[rig]", "[big]") + END, {"rig": _told(full), "big": _told(RTX)}))
    found = _question(site)
    (backend,) = find(Books(found.wants[0], constants()), [found.places[0]]).layouts[0].backends
    assert [card.others for stage in backend.stages for card in stage.cards] == [0.0] * len(backend.uses)
