"""Each way in which the boxes of a split model can disagree, as a file: what they told, and floor's exact lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.config.boxes import Fabric
from floor.plan import agreement
from floor.plan.agreement import Group

CASES = sorted((Path(__file__).parents[2] / "cases" / "agreement").glob("*.yaml"))
SPARE = 60999
BOXES = {"spark-a": "198.51.100.1", "spark-b": "198.51.100.2"}


def group(**changed: Any) -> Group:
    fabric = {box: Fabric(interface="eth1", address=at, hca=["rocep1"]) for box, at in BOXES.items()}
    given: dict[str, Any] = {"master_port": 29501, "tensor": 2, "stages": (), "source": "/models/m", "image": None}
    return Group("m", fabric, **{**given, **{key: tuple(v) if key == "stages" else v for key, v in changed.items()}})


def look(box: str, **changed: Any) -> dict[str, Any]:
    """What a box tells with which nothing is wrong, but for what a case says."""
    link = {"there": True, "up": True, "mtu": 9000, "addresses": [f"{BOXES[box]}/24"], "others": ["eth0"]}
    weights = {
        "digest": None,
        "files": {"a.safetensors": 9, "config.json": 2},
        "small": {"config.json": "c" * 64},
        "config": {"layers": 48, "heads": 8},
    }
    told: dict[str, Any] = {
        "link": link,
        "devices": {"rocep1": {"state": "ACTIVE"}},
        "version": "0.32.0",
        "weights": weights,
    }
    parts = {key: {**told[key], **changed[key]} for key in ("link", "weights") if key in changed}
    return {**told, **changed, **parts}


def meet(box: str, **changed: Any) -> dict[str, Any]:
    peers = [at for name, at in BOXES.items() if name != box]
    return {"reached": {at: {"29501": "", str(SPARE): ""} for at in peers}, "heard": peers, "held": {}, **changed}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_boxes_do_not_have_alike_is_told_in_these_words(path: Path) -> None:
    case = yaml.safe_load(path.read_text())
    of = group(**case.get("group", {}))
    looks = {box: look(box, **case.get("look", {}).get(box, {})) for box in BOXES}
    meets = {box: meet(box, **case.get("meet", {}).get(box, {})) for box in BOXES}
    found = [
        *agreement.links(of, looks),
        *agreement.builds(of, looks, case.get("images", {})),
        *agreement.meetings(of, meets, (29501, SPARE), case.get("unsettled", ())),
    ]
    assert found == case["says"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_line_says_where_what_and_what_to_do(path: Path) -> None:
    for line in yaml.safe_load(path.read_text())["says"]:
        where, _, rest = line.partition(": ")
        assert where in (*BOXES, "m")
        assert "; " in rest or "?" in rest
        assert len(line) < 400


def test_a_port_of_the_kernels_that_is_free_everywhere_stands_for_all_of_them() -> None:
    assert agreement.spare_port([{"60999": {}, "22": {}}, {"60998": {}}]) == 60997
    assert agreement.spare_port([]) == 60999


def test_boxes_without_any_weights_do_not_differ() -> None:
    """That they lack them is said elsewhere, with what brings them."""
    assert agreement.builds(group(), {}, {}) == []
