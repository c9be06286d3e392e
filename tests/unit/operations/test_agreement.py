"""Boxes of a split model are compared, and meet on their fabric, before anything stops."""

from __future__ import annotations

from typing import Any

import pytest

from floor.agent.call import Call
from floor.agent.params import Params
from floor.agent.registry import find
from floor.box import fabric as on_box
from floor.operations.agreement import disagreements, group, starting
from floor.plan import preflight
from floor.plan.steps import Plan, Stage, Step
from tests.simulated.situation import TWO_BOXES, Situation

SPLIT = (
    TWO_BOXES.replace("192.0.2.11}", "192.0.2.11, fabric: {interface: eth1, address: 198.51.100.1}}")
    .replace("192.0.2.12}", "192.0.2.12, fabric: {interface: eth1, address: 198.51.100.2}}")
    .replace("replicas:", "split: {boxes: [spark-b, spark-a], pipeline: [20, 28], master_port: 29600}\n    replicas:")
)
LINK = {"there": True, "up": True, "mtu": 9000, "others": []}


@pytest.fixture
def split(situation: Situation) -> Situation:
    """Two boxes in mode replicas that could be split, each with its own address on their link."""
    situation.text = SPLIT
    situation.deploy()
    for number, box in enumerate(("spark-a", "spark-b"), 1):
        situation.box(box).build["link"] = {**LINK, "addresses": [f"198.51.100.{number}/24"]}
    situation.world.log.clear()
    situation.said.clear()
    return situation


def ask(situation: Situation, *, force: bool = False) -> list[str]:
    site = situation.site()
    return disagreements(site, site.observe(), ["flagship"], situation.said.append, situation.said.append, force=force)


def test_boxes_of_one_mind_are_found_so(split: Situation) -> None:
    assert ask(split) == []
    assert split.said == ["  boxes of flagship: comparing builds, meeting on the fabric"]


def test_what_differs_is_told_and_nobody_is_asked_to_meet(split: Situation) -> None:
    split.box("spark-a").build["weights"] = {"digest": None, "files": {"config.json": 3}, "small": {}, "config": {}}
    [line] = ask(split)
    assert line.startswith("flagship: /models/flagship differs between its boxes: config.json (2 bytes on spark-b, 3 b")
    assert not any("fabric.meet" in line for line in split.world.log)


def test_a_box_that_is_cut_off_is_told_with_the_port(split: Situation) -> None:
    split.box("spark-a").cut_off = True
    [line] = ask(split)
    assert line.startswith("spark-a: does not reach spark-b at 198.51.100.2 on the fabric, port 29600, where the ranks")


def test_the_port_of_ranks_that_run_is_left_alone(split: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    split.box("spark-b").held["29600"] = {"pid": 7, "command": "VLLM::Worker_TP0"}
    calls = split.box("spark-a").calls
    sent: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(calls, "fabric_meet", _kept(sent, "fabric.meet", calls.fabric_meet))
    assert ask(split) == []
    assert [params["ports"] for _, params in sent] == [[60999]]


def test_force_says_so_and_refuses_nothing(split: Situation) -> None:
    split.box("spark-a").cut_off = True
    assert ask(split, force=True) == []
    assert split.said[-1].endswith("that is not floor's; going on as --force asks")


def test_weights_that_are_missing_are_not_told_twice(split: Situation) -> None:
    nothing: dict[str, Any] = {"digest": None, "files": {}, "small": {}, "config": {}}
    split.box("spark-a").build["weights"] = nothing
    assert ask(split) == []


def test_only_a_group_that_a_plan_starts_is_asked(split: Situation) -> None:
    config = split.site().loaded.config
    step = Step("spark-a", "unit.start", {"unit": "floor-group-flagship.service"}, "start it")
    assert starting(config, Plan((Stage("start", ((step,),)),))) == ["flagship"]
    assert starting(config, Plan()) == []
    found = group(config, "flagship")
    assert found is not None
    assert (found.boxes, found.stages, found.tensor) == (("spark-b", "spark-a"), (20, 28), 1)


def test_the_agent_takes_what_is_sent(split: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, dict[str, Any]]] = []
    for box in split.world.boxes.values():
        monkeypatch.setattr(box.calls, "fabric_look", _kept(sent, "fabric.look", box.calls.fabric_look))
        monkeypatch.setattr(box.calls, "fabric_meet", _kept(sent, "fabric.meet", box.calls.fabric_meet))
    ask(split)
    monkeypatch.setattr(on_box, "meet", lambda *asked: {"asked": asked[:4]})
    answers = [find(name)(Call(Params(name, params))) for name, params in sent]
    assert [sorted(answer) for answer in answers[:2]] == [["devices", "link", "version", "weights"]] * 2
    assert answers[2] == {"asked": ("198.51.100.2", [29600, 60999], ["198.51.100.1"], 15.0)}


def _kept(sent: list[tuple[str, dict[str, Any]]], name: str, answer: Any) -> Any:
    def call(params: dict[str, Any]) -> Any:
        sent.append((name, params))
        return answer(params)

    return call


def test_a_program_that_has_the_port_where_ranks_meet_is_named(split: Situation) -> None:
    split.box("spark-b").held["29600"] = {"pid": 7, "command": "nc -l 29600"}
    split.box("spark-a").held["29600"] = {"pid": 8, "command": "another's, on a worker"}
    aim = split.site().observe("split", switch=True)
    [line] = preflight.problems(aim)
    assert line == (
        "spark-b: port 29600, where the ranks of flagship meet, is held by nc -l 29600 (pid 7); stop it, or write "
        "another `master_port`"
    )
    assert preflight.problems(aim, [("spark-b", 29600)]) == []
