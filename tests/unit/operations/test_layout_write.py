"""The chosen layout in floor.yaml: what differs is written, comments and order stay, and what cannot be is said."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from floor.config.load import Loaded, examine, parse
from floor.errors import ConfigError, RefusedError, UsageError
from floor.layout.assign import Answer, answer
from floor.layout.cards import named
from floor.layout.fit import constants
from floor.layout.fleet import Place
from floor.operations import layout_write
from tests.unit.layout.fleets import sparks, want

TEXT = """\
# our boxes
boxes:
  spark-a: {host: 192.0.2.11, fabric: {interface: fab0, address: 198.51.100.1}}
  spark-b: {host: 192.0.2.12, fabric: {interface: fab0, address: 198.51.100.2}}  # databases, too
models:
  flagship:
    source: /models/flagship
    kv_cache: auto  # until we trust fp8
    utilization: 0.6
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    replicas: [spark-a, {box: spark-b, weight: 2}]  # both
proxy: {boxes: [spark-a]}
"""


@functools.cache
def _answers(kv_cache: str = "fp8", at_once: int = 2) -> tuple[Answer, ...]:
    return tuple(answer([want(kv_cache=kv_cache, at_once=at_once)], sparks(), constants()))


def _proposed(text: str, answers: Any, **settings: object) -> tuple[str, str, list[str]]:
    config, warnings = examine(text, "floor.yaml")
    return layout_write.proposed(Loaded(config, text, Path("floor.yaml"), warnings), answers, settings)


def test_copies_get_their_shares_and_everything_else_stays() -> None:
    text, difference, by_hand = _proposed(TEXT, _answers(), kv_cache="fp8", cap=12)
    copies = parse(text).copies("flagship")
    assert [(copy.utilization, copy.weight) for copy in copies] == [(0.79, 1), (0.74, 2)]
    assert [copy.kv_cache for copy in copies] == ["fp8", "fp8"]
    assert by_hand == []
    for kept in ("# our boxes", "# databases, too", "# until we trust fp8", "# both"):
        assert kept in text
    changed = [line for line in difference.splitlines() if line[:1] == "+" and line[:3] != "+++"]
    assert len(changed) == 2


def test_what_is_written_is_not_written_again() -> None:
    once, _, _ = _proposed(TEXT, _answers(), kv_cache="fp8")
    again, difference, _ = _proposed(once, _answers(), kv_cache="fp8")
    assert (again, difference) == (once, "")


def test_a_split_is_added_beside_the_copies_and_changed_where_there_is_one() -> None:
    text, _, _ = _proposed(TEXT, _answers("auto"))
    split = parse(text).models["flagship"].split
    assert split is not None
    assert (split.boxes, split.tensor_parallel, split.pipeline) == (["spark-a", "spark-b"], 2, None)
    assert [(part.box, part.utilization) for part in split.parts] == [("spark-a", 0.74), ("spark-b", 0.74)]
    assert len(parse(text).copies("flagship")) == 2
    other = text.replace("tensor_parallel: 2", "pipeline: [60, 40]")
    assert other != text
    back, _, _ = _proposed(other, _answers("auto"))
    changed = parse(back).models["flagship"].split
    assert changed is not None
    assert (changed.tensor_parallel, changed.pipeline) == (2, None)
    assert _proposed(back, _answers("auto"))[1] == ""


def test_a_copy_that_the_layout_has_not_is_named_and_left() -> None:
    alone = answer([want(kv_cache="fp8")], sparks()[:1], constants())
    text, _, by_hand = _proposed(TEXT, alone)
    assert by_hand == ["flagship has a copy on spark-b that this layout has not; take it out of replicas by hand"]
    assert [copy.box for copy in parse(text).copies("flagship")] == ["spark-a", "spark-b"]


def test_a_copy_that_the_file_has_not_is_added() -> None:
    fewer = TEXT.replace("[spark-a, {box: spark-b, weight: 2}]", "[spark-a]")
    copies = parse(_proposed(fewer, _answers())[0]).copies("flagship")
    assert [(copy.box, copy.utilization) for copy in copies] == [("spark-a", 0.79), ("spark-b", 0.74)]


def test_several_cards_of_a_box_are_told_to_its_engine() -> None:
    rig = [Place("spark-a", (named("rtx-6000-ada"),) * 4)]
    found = answer([want(kv_cache="fp8")], rig, constants())
    copy = parse(_proposed(TEXT, found)[0]).copies("flagship")[0]
    assert found[0].advice.chosen is not None
    (backend,) = found[0].advice.chosen.backends
    assert copy.args.get("tensor-parallel-size", 1) == backend.tp
    assert copy.args.get("pipeline-parallel-size", 1) == len(backend.stages)
    assert max(backend.tp, len(backend.stages)) > 1


def test_what_cannot_be_written_is_refused() -> None:
    small = answer([want()], [Place("spark-a", (named("l4"),))], constants())
    with pytest.raises(RefusedError, match="flagship: nothing fits, so nothing is written"):
        _proposed(TEXT, small)
    elsewhere = answer([want(kv_cache="fp8")], [Place("mars", (named("gb10"),))], constants())
    with pytest.raises(UsageError, match="--write: box mars is not in the file; add it there first"):
        _proposed(TEXT, elsewhere)
    with pytest.raises(UsageError, match="--write: model flagship is not in the file; add it there first"):
        _proposed(TEXT.replace("  flagship:", "  other:"), _answers())
    bare = TEXT.replace(", fabric: {interface: fab0, address: 198.51.100.2}", "")
    with pytest.raises(ConfigError, match=r"boxes.spark-b.fabric"):
        _proposed(bare, _answers("auto"))


GROUP = """\
    split:
      boxes: [spark-a, spark-b]
      tensor_parallel: 2
      parts:
        # databases
        - {box: spark-b, utilization: 0.5}  # half
"""


def test_parts_of_a_group_are_changed_one_option_at_a_time() -> None:
    text, _, _ = _proposed(TEXT.replace("proxy:", f"{GROUP}proxy:"), _answers("auto"))
    split = parse(text).models["flagship"].split
    assert split is not None
    assert [(part.box, part.utilization) for part in split.parts] == [("spark-b", 0.74), ("spark-a", 0.74)]
    assert "# databases" in text
    assert "# half" in text
    assert _proposed(text, _answers("auto"))[1] == ""


def test_a_size_of_the_cache_in_the_file_gives_way_to_that_of_the_layout() -> None:
    said = TEXT.replace("    utilization: 0.6\n", "    utilization: 0.6\n    cache_memory: 1GiB\n")
    text, _, _ = _proposed(said, _answers())
    sizes = [copy.cache_memory for copy in parse(text).copies("flagship")]
    assert [round((size or 0) / 2**30, 1) for size in sizes] == [21.3, 15.2]
    assert _proposed(text, _answers())[1] == ""
    split = parse(_proposed(said, _answers("auto"))[0]).models["flagship"].split
    assert split is not None
    assert all((part.cache_memory or 0) > 40 * 2**30 for part in split.parts)


def test_what_the_file_cannot_be_given_is_named() -> None:
    cut = TEXT.replace("    utilization", "    env: {VLLM_PP_LAYER_PARTITION: '60,40'}\n    utilization")
    _, _, by_hand = _proposed(cut, _answers(), quant="nvfp4", drafts=4)
    assert by_hand == [
        "flagship: its shares are those of weights in nvfp4; fetch such a build and write its source",
        "flagship: found 0 drafts in args (speculative-config), computed with 4; write them",
        "flagship@spark-a has one stage; take VLLM_PP_LAYER_PARTITION out of its env, or it does not start",
        "flagship@spark-b has one stage; take VLLM_PP_LAYER_PARTITION out of its env, or it does not start",
    ]
