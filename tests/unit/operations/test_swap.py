"""`floor swap` on boxes in memory: what it edits, in which order it changes and tests copies, and how it goes back."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from floor.errors import BusyError, ConfigError, FloorError, RefusedError, UsageError
from floor.operations import checks, drain
from floor.operations.status import status
from floor.operations.swap_edit import Wish
from floor.tooltest.report.result import Result
from floor.tooltest.suite import read
from tests.model import commands
from tests.model.stories import SWITCHED
from tests.simulated.caller import Caller, KilledError
from tests.simulated.situation import ONE_BOX, Situation

UNIT = "floor-copy-flagship.service"
PARSER = Wish(args=["tool-call-parser=hermes"])
BOTH = {"flagship@spark-a", "flagship@spark-b"}


def launch(situation: Situation, box: str, unit: str = UNIT) -> str:
    """The digest that a unit runs with."""
    return situation.box(box).processes[unit].digest


def coming(situation: Situation, wish: Wish = PARSER) -> dict[str, str]:
    """By backend the launch that a swap brings."""
    fresh = Situation(situation.world, situation.text)
    outcome = fresh.swap("flagship", wish, dry_run=True)
    steps = [step for stage in outcome.plan.stages for step in stage.steps if step.call == "tooltest.run"]
    return {step.params["backend"]: step.params["launch"] for step in steps if step.params["tier"] != "baseline"}


def calls(situation: Situation, *names: str) -> list[str]:
    """The calls of these names, in their order."""
    return [line for line in situation.world.log if line.split()[1] in names]


def refused(situation: Situation, wish: Wish = PARSER, model: str = "flagship") -> str:
    with pytest.raises(RefusedError) as error:
        situation.swap(model, wish)
    assert not any("operation.take" in line for line in situation.world.log)
    return str(error.value)


def test_a_good_build_goes_live_on_both_copies_and_the_file_says_so(deployed: Situation) -> None:
    new = coming(deployed)
    deployed.world.banned = frozenset(new.items())
    deployed.world.log.clear()
    assert deployed.swap("flagship", PARSER).complete
    assert {f"flagship@{box}": launch(deployed, box) for box in ("spark-a", "spark-b")} == new
    assert "tool-call-parser: hermes" in deployed.text
    assert deployed.was is None
    assert deployed.members() == [BOTH, BOTH]
    assert (deployed.world.wrong, deployed.world.cut) == ([], [])
    assert deployed.swap("flagship").lines() == ["nothing to do"]
    assert deployed.deploy_all().lines() == ["nothing to do"]


def test_the_order_of_things(deployed: Situation) -> None:
    """The baseline before anything is drained; each copy stopped, held, started, tested, and only then let in."""
    deployed.swap("flagship", PARSER)
    steps = ("tooltest.run", "unit.stop", "unit.start", "drain.add", "drain.remove")
    seen = [line for line in calls(deployed, *steps) if line != "spark-b drain.add" and line != "spark-b drain.remove"]
    a = ["spark-a unit.stop", "spark-a drain.add", "spark-a unit.start", "spark-a tooltest.run"]
    b = ["spark-b unit.stop", "spark-a drain.add", "spark-b unit.start", "spark-b tooltest.run"]
    let_in = ["spark-a drain.remove"] * 2
    assert [one for one, before in zip(seen, ["", *seen], strict=False) if one != before or "drain.remove" in one] == [
        "spark-a tooltest.run",
        "spark-a drain.add",
        *a,
        *let_in,
        "spark-a drain.add",
        *b,
        *let_in,
    ]
    tiers = [params["tier"] for (name, _), params in deployed.world.sent.items() if name == "tooltest.run"]
    assert tiers == ["baseline"]  # the first of its kind; the others are shown below


def test_a_dry_run_shows_the_difference_and_the_whole_way_and_touches_nothing(deployed: Situation) -> None:
    text = deployed.text
    outcome = deployed.swap("flagship", PARSER, dry_run=True)
    assert outcome.pending
    assert "+    args: {tool-call-parser: hermes}" in deployed.said[0].splitlines()
    titles = [stage.title for stage in outcome.plan.stages]
    assert titles == [
        "baseline of flagship",
        "change flagship@spark-a and test it",
        "let in flagship@spark-a",
        "change flagship@spark-b and test it",
        "let in flagship@spark-b",
        "record the file",
    ]
    shown = "\n".join(outcome.lines())
    assert "spark-a: test flagship@spark-a as it is, for comparison   [nobody kept how this build does]" in shown
    assert "test whether flagship@spark-a calls tools, all of it" in shown
    assert "test whether flagship@spark-b calls tools, in short: this build has passed elsewhere" in shown
    assert "new --tool-call-parser hermes" in shown
    assert deployed.text == text
    assert calls(deployed, "operation.take") == []


def test_no_more_trials_at_once_than_the_engine_takes(deployed: Situation) -> None:
    """Else most of them would wait in its queue until their time is over."""
    deployed.edit("max_requests: 12", "max_requests: 3")
    deployed.deploy_all()
    steps = [step for stage in deployed.swap("flagship", PARSER, dry_run=True).plan.stages for step in stage.steps]
    assert [step.params["concurrency"] for step in steps if step.call == "tooltest.run"] == [3, 3, 3]


def test_a_build_that_is_blocked_goes_back_and_the_rest_is_never_touched(deployed: Situation) -> None:
    text, old = deployed.text, {box: launch(deployed, box) for box in ("spark-a", "spark-b")}
    new = coming(deployed)
    deployed.world.banned = frozenset(new.items())
    deployed.world.verdicts[new["flagship@spark-a"]] = "BLOCK"
    with pytest.raises(FloorError) as error:
        deployed.swap("flagship", PARSER)
    assert str(error.value) == (
        "flagship@spark-a: BLOCK: as a test wants BLOCK\n  the build before it is back on every copy"
    )
    assert error.value.exit_code == 1
    assert (deployed.text, deployed.was) == (text, None)
    assert deployed.pages == [f"# what was found of {UNIT}\n"]
    assert {box: launch(deployed, box) for box in old} == old
    assert deployed.starts("spark-b") == 1
    assert deployed.members() == [BOTH, BOTH]
    assert (deployed.world.wrong, deployed.world.cut) == ([], [])
    assert deployed.deploy_all().lines() == ["nothing to do"]


def test_a_build_that_is_blocked_goes_back_also_where_its_report_cannot_be_kept(deployed: Situation) -> None:
    text, old, new = deployed.text, launch(deployed, "spark-a"), coming(deployed)
    deployed.world.verdicts[new["flagship@spark-a"]] = "BLOCK"
    deployed.no_room = True
    with pytest.raises(FloorError, match=r"flagship@spark-a: BLOCK: .*\n  the build before it is back on every copy"):
        deployed.swap("flagship", PARSER)
    assert (
        f"note: the report lies on spark-a, /var/lib/floor/tooltest/{UNIT}.md: report.md: cannot be written: No space "
        "left on device"
    ) in deployed.said
    assert (launch(deployed, "spark-a"), deployed.text) == (old, text)
    assert deployed.members() == [BOTH, BOTH]


def test_a_way_back_that_stops_says_what_it_goes_back_from(deployed: Situation) -> None:
    new, old = coming(deployed), launch(deployed, "spark-a")
    deployed.world.verdicts[new["flagship@spark-a"]] = "BLOCK"
    deployed.world.broken.add(old)
    with pytest.raises(FloorError) as error:
        deployed.swap("flagship", PARSER)
    lines = str(error.value).splitlines()
    assert lines[0] == "flagship@spark-a: BLOCK: as a test wants BLOCK"
    assert lines[1].startswith("  the way back stopped, `floor swap --abort` goes on with it: spark-a: ")
    deployed.world.broken.clear()
    deployed.world.sleep(100)
    assert deployed.swap_back().complete
    assert deployed.members() == [BOTH, BOTH]


def test_a_file_that_was_edited_by_hand_is_taken_as_it_is_and_stays_with_the_person(deployed: Situation) -> None:
    deployed.edit("    replicas", "    args: {tool-call-parser: hermes}\n    replicas")
    old = launch(deployed, "spark-a")
    steps = [step for stage in deployed.swap("flagship", dry_run=True).plan.stages for step in stage.steps]
    new = {step.params["launch"] for step in steps if step.call == "tooltest.run" and step.params["tier"] == "gate"}
    deployed.world.verdicts = dict.fromkeys(new, "BLOCK")
    with pytest.raises(FloorError, match="flagship@spark-a: BLOCK"):
        deployed.swap("flagship")
    assert "+    args: {tool-call-parser: hermes}" in deployed.said[0].splitlines()
    assert launch(deployed, "spark-a") == old
    assert "hermes" in deployed.text
    assert deployed.said[-1] == "floor.yaml still asks for the build that went: take that out again"
    deployed.world.verdicts.clear()
    assert deployed.swap("flagship").complete
    assert deployed.deploy_all().lines() == ["nothing to do"]


@pytest.mark.parametrize("older", [True, False])
def test_a_file_that_a_swap_kept_comes_back_where_the_boxes_have_that(deployed: Situation, older: bool) -> None:
    """A way back that was killed just before it put the file back; or a swap long ago, and a person's edit since."""
    text, new = deployed.text, coming(deployed)
    deployed.world.verdicts = dict.fromkeys(new.values(), "BLOCK")
    deployed.was = text.replace("max_requests: 12", "max_requests: 3") if older else text
    deployed.edit("    replicas", "    args: {tool-call-parser: hermes}\n    replicas")
    edited = deployed.text
    with pytest.raises(FloorError, match="flagship@spark-a: BLOCK"):
        deployed.swap("flagship", PARSER)
    assert (deployed.text, deployed.was) == (edited if older else text, None)


def test_a_copy_that_never_gets_ready_goes_back(deployed: Situation) -> None:
    text, new = deployed.text, coming(deployed)
    deployed.world.broken.add(new["flagship@spark-a"])
    with pytest.raises(FloorError, match=f"spark-a: {UNIT} does not stay up"):
        deployed.swap("flagship", PARSER)
    assert deployed.text == text
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.starts("spark-b") == 1
    assert deployed.deploy_all().lines() == ["nothing to do"]


def test_a_later_copy_that_fails_takes_the_first_one_back_too(deployed: Situation) -> None:
    """The file says one build for all of them."""
    new = coming(deployed)
    deployed.world.verdicts[new["flagship@spark-b"]] = "BLOCK"
    old = launch(deployed, "spark-a")
    with pytest.raises(FloorError, match="flagship@spark-b: BLOCK"):
        deployed.swap("flagship", PARSER)
    assert launch(deployed, "spark-a") == old
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.world.wrong == []


@pytest.mark.parametrize("answer", [True, False])
def test_what_is_left_open_is_asked_for(deployed: Situation, answer: bool) -> None:
    new = coming(deployed)
    deployed.world.banned = frozenset(new.items())
    deployed.world.verdicts = dict.fromkeys(new.values(), "HOLD")
    deployed.answers = [answer, answer]
    if answer:
        assert deployed.swap("flagship", PARSER).complete
        assert len(deployed.asked) == 2
    else:
        told = "flagship@spark-a: HOLD: as a test wants HOLD\n  the build before it is"
        with pytest.raises(FloorError, match=told) as error:
            deployed.swap("flagship", PARSER)
        assert error.value.exit_code == 6
    assert deployed.asked[0] == (
        "flagship@spark-a: the test leaves it open (as a test wants HOLD). Let it in all the same?"
    )
    assert ("hermes" in deployed.text) is answer
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.world.wrong == []


def test_the_baseline_is_made_once_and_goes_where_it_is_needed(deployed: Situation) -> None:
    new = coming(deployed)
    deployed.world.verdicts[new["flagship@spark-a"]] = "BLOCK"
    with pytest.raises(FloorError):
        deployed.swap("flagship", PARSER)
    (kept,) = deployed.box("spark-a").baselines["flagship"]
    deployed.world.verdicts.clear()
    deployed.world.log.clear()
    deployed.swap("flagship", PARSER)
    assert list(deployed.box("spark-b").baselines["flagship"]) == [kept]
    assert calls(deployed, "tooltest.read", "tooltest.put") == ["spark-a tooltest.read", "spark-b tooltest.put"]
    ran = [line for line in calls(deployed, "tooltest.run", "unit.stop") if line.endswith("run")]
    assert set(ran) == {"spark-a tooltest.run", "spark-b tooltest.run"}
    assert calls(deployed, "tooltest.run", "unit.stop")[0] == "spark-a unit.stop"  # no baseline again


def test_a_baseline_that_was_made_before_is_taken(deployed: Situation, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    made = Result({"suite": read.digest()}, "gate", 1, {}, "", 0.0, 0.0, [], [])
    file.write_text(json.dumps(made.document()))
    assert deployed.swap("flagship", PARSER, baseline=file).complete
    (text,) = deployed.box("spark-a").baselines["flagship"].values()
    assert json.loads(text)["setting"] == {"suite": read.digest()}
    assert calls(deployed, "tooltest.put", "tooltest.run")[0] == "spark-a tooltest.put"
    assert not any("is not taken" in line for line in deployed.said)


def test_a_baseline_that_is_not_needed_is_not_taken_and_that_is_said(deployed: Situation, tmp_path: Path) -> None:
    deployed.world.verdicts = dict.fromkeys(coming(deployed).values(), "BLOCK")
    with pytest.raises(FloorError):
        deployed.swap("flagship", PARSER)  # what runs has a baseline now
    file = tmp_path / "before.json"
    file.write_text(json.dumps(Result({"suite": read.digest()}, "gate", 1, {}, "", 0.0, 0.0, [], []).document()))
    outcome = deployed.swap("flagship", Wish(args=["seed=8"]), baseline=file, dry_run=True)
    assert f"note: {file} is not taken: a box keeps a baseline of that build" in outcome.lines()


def test_a_baseline_of_other_scenarios_is_refused(deployed: Situation, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    file.write_text(json.dumps(Result({"suite": "old"}, "gate", 1, {}, "", 0.0, 0.0, [], []).document()))
    with pytest.raises(UsageError) as error:
        deployed.swap("flagship", PARSER, baseline=file)
    assert str(error.value) == f"{file}: is of other scenarios than this release has; make it anew"


def test_a_baseline_of_another_model_is_refused(deployed: Situation, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    of = Result({"suite": read.digest()}, "gate", 1, {"model": "second"}, "", 0.0, 0.0, [], [])
    file.write_text(json.dumps(of.document()))
    with pytest.raises(UsageError) as error:
        deployed.swap("flagship", PARSER, baseline=file)
    assert str(error.value) == f"{file}: is of second, not of flagship; give one of the model that changes"


def test_one_copy_alone_is_away_until_it_has_passed_and_that_is_said(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    outcome = situation.swap("flagship", PARSER, dry_run=True)
    assert outcome.lines()[-1] == (
        "note: nobody answers for flagship for about 49 min: from the stop of what runs until the new build has passed "
        "its test"
    )
    assert situation.swap("flagship", PARSER).complete
    told = situation.box("spark-a").announced
    assert (told["mode"], told["models"]) == ("swap", {"flagship": 2915})
    log = situation.world.log
    assert log.index("spark-a pool.announce") < log.index("spark-a drain.add")
    assert situation.members() == [{"flagship@spark-a"}]


def test_the_last_of_two_copies_is_not_taken_by_itself(deployed: Situation) -> None:
    commands.drained(deployed)
    with pytest.raises(RefusedError, match="this takes the last serving copy of flagship"):
        deployed.swap("flagship", PARSER)


def test_a_group_is_changed_as_a_whole(situation: Situation) -> None:
    situation.text = SWITCHED
    situation.deploy()
    situation.switch("split")
    starts = [box.starts.count("floor-group-flagship.service") for box in situation.world.boxes.values()]
    assert situation.swap("flagship", PARSER).complete
    after = [box.starts.count("floor-group-flagship.service") for box in situation.world.boxes.values()]
    assert after == [one + 1 for one in starts]
    assert situation.members() == [{"flagship@spark-a+spark-b"}, {"flagship@spark-a+spark-b"}]
    assert situation.deploy_all().lines() == ["nothing to do"]


def left(situation: Situation, call: str, seconds: float = 100) -> Situation:
    """A swap whose process was killed right after such a call, that long ago: its lease lapses after 90 s."""
    situation.world.log.clear()
    whole = copy.deepcopy(situation)
    whole.swap("flagship", PARSER)
    at = whole.world.log.index(call) + 1
    situation.fate = Caller(0, at, after=True, then=lambda _box: situation.caller.kill())
    with pytest.raises(KilledError):
        situation.swap("flagship", PARSER)
    assert situation.world.log[-1] == call
    situation.said.clear()
    situation.world.sleep(seconds)
    return situation


def test_an_abandoned_swap_lets_nothing_untested_serve_and_either_way_is_open(deployed: Situation) -> None:
    deployed.world.banned = frozenset(coming(deployed).items())
    text = deployed.text
    one = left(deployed, "spark-a unit.start")
    one.world.sleep(60)
    assert one.members() == [{"flagship@spark-b"}, {"flagship@spark-b"}]
    told = (
        "floor swap of ada@laptop, operation 2, did not end: `floor swap flagship` goes on with it, "
        "`floor swap --abort` goes back"
    )
    for verb in (one.deploy_all, lambda: one.swap("other", Wish())):
        with pytest.raises((RefusedError, UsageError)):
            verb()
    with pytest.raises(RefusedError) as error:
        one.deploy_all()
    assert str(error.value) == told
    assert one.swap_back().complete
    assert one.said[0] == "ends operation 2, floor swap of ada@laptop, and goes back to the build before it"
    assert (one.text, one.was) == (text, None)
    assert one.members() == [BOTH, BOTH]
    assert one.world.wrong == []
    with pytest.raises(RefusedError, match="no swap was left unfinished"):
        one.swap_back()


@pytest.mark.parametrize("call", ["spark-a unit.start", "spark-b unit.start", "spark-a files.put", "spark-a unit.stop"])
def test_the_same_command_goes_on(deployed: Situation, call: str) -> None:
    deployed.world.banned = frozenset(coming(deployed).items())
    one = left(deployed, call)
    assert one.swap("flagship", PARSER).complete
    assert one.members() == [BOTH, BOTH]
    assert [one.starts(box) for box in ("spark-a", "spark-b")] == [2, 2]
    assert one.world.wrong == []


def test_nobody_lets_in_by_hand_what_has_not_passed(deployed: Situation) -> None:
    one = left(deployed, "spark-a unit.start")
    site = one.site()
    with pytest.raises(RefusedError) as error:
        drain.undrain(site, drain.find(site, "spark-a"), one.said.append)
    assert str(error.value) == (
        "flagship@spark-a: its build has not passed the tool test; `floor swap flagship` tests it, "
        "`floor swap --abort` goes back, `floor deploy --ungated` lets it serve as it is"
    )
    found = [finding.what for finding in checks.verify(one.site()) if not finding.ok]
    assert (
        found
        == ["flagship@spark-a is kept out of the pool: its build has not passed the tool test; see `floor status`"] * 2
    )
    warned = status(one.site())["warnings"]
    assert any("`floor swap flagship` finishes it, `floor swap --abort` goes back to the build" in it for it in warned)


def test_at_work_is_at_work(deployed: Situation) -> None:
    one = left(deployed, "spark-a unit.stop", 10)
    for box in one.world.boxes.values():
        assert box.record is not None
        box.record["by"] = {**box.record["by"], "user": "bob"}
    with pytest.raises(BusyError, match="bob@laptop"):
        one.swap_back()


def test_a_tag_that_means_another_image_now_has_no_way_back(deployed: Situation) -> None:
    deployed.box("spark-a").images["registry.example/vllm:v1"] = "sha256:2"
    with pytest.raises(RefusedError) as error:
        deployed.swap("flagship")
    assert str(error.value) == (
        "flagship@spark-a: what floor.yaml says is another build now (image sha256:1 → sha256:2), and nothing says "
        "what runs: there would be no way back. Write images with their digests; `floor deploy --ungated` takes it"
    )


def test_where_nothing_changes_a_copy_that_is_down_is_left_to_a_deployment(deployed: Situation) -> None:
    deployed.box("spark-b").stop(UNIT)
    deployed.world.sleep(10)
    assert deployed.swap("flagship").lines() == ["nothing to do"]
    assert calls(deployed, "operation.take") == []


def test_a_copy_that_was_down_is_tested_too(deployed: Situation) -> None:
    deployed.box("spark-b").stop(UNIT)
    deployed.world.sleep(10)
    new = coming(deployed)
    deployed.world.banned = frozenset(new.items())
    assert deployed.swap("flagship", PARSER).complete
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.world.wrong == []


def test_killed_before_the_file_was_written_it_ends_without_a_change(deployed: Situation) -> None:
    one = left(deployed, "spark-b operation.take")
    one.text, one.was = one.was or one.text, None
    assert one.swap("flagship").changed
    assert one.deploy_all().lines() == ["nothing to do"]
    assert [one.starts(box) for box in ("spark-a", "spark-b")] == [1, 1]


def test_other_words_in_the_middle_are_compared_with_what_ran_at_first(deployed: Situation) -> None:
    left(deployed, "spark-a unit.start")
    (kept,) = deployed.box("spark-a").baselines["flagship"]
    assert deployed.swap("flagship", Wish(args=["seed=7"])).complete
    assert {box.tests[UNIT]["against"] for box in deployed.world.boxes.values()} == {kept}
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.deploy_all().lines() == ["nothing to do"]


def test_a_way_back_that_was_left_is_ended_first(deployed: Situation) -> None:
    text = deployed.text
    one = left(deployed, "spark-a unit.start")
    one.fate = Caller(0, 25, after=True, then=lambda _box: one.caller.kill())
    with pytest.raises(KilledError):
        one.swap_back()
    one.world.sleep(100)
    assert one.swap("flagship", PARSER, dry_run=True).pending
    with pytest.raises(RefusedError, match="a swap was on its way back; that is done now: run the command again to"):
        one.swap("flagship", PARSER)
    assert (one.text, one.was) == (text, None)
    assert one.members() == [BOTH, BOTH]
    assert one.swap("flagship", PARSER).complete


def test_what_else_differs_is_to_be_deployed_first(deployed: Situation) -> None:
    deployed.edit("proxy: {boxes", "health: {stall: 20}\nproxy: {boxes")
    assert refused(deployed) == (
        "spark-a: another floor.yaml was deployed there; run `floor deploy` first: a swap changes the model flagship "
        "alone"
    )


def test_bare_boxes(situation: Situation) -> None:
    assert refused(situation).startswith("spark-a: nothing was deployed there yet; run `floor deploy` first")


def test_embeddings_call_no_tools(deployed: Situation) -> None:
    deployed.edit("    utilization: 0.4\n", "    utilization: 0.4\n    task: embed\n")
    assert refused(deployed) == "flagship: embeds and calls no tools; `floor deploy --ungated` changes its build"


CARDS = [
    (
        [{"name": "GB10", "total": None}],
        {},
        "60.0 GiB",
        "51.2 GiB (0.4 of 128.0 GiB)",
    ),  # the box's memory is the card's
    ([{"name": "RTX", "total": 24 << 30}] * 4, {}, "60.0 GiB", "9.6 GiB (0.4 of 24.0 GiB)"),
    ([{"name": "RTX", "total": 24 << 30}] * 4, {"tensor-parallel-size": 4}, "15.0 GiB", "9.6 GiB (0.4 of 24.0 GiB)"),
]


@pytest.mark.parametrize(("cards", "args", "size", "share"), CARDS)
def test_weights_larger_than_the_share_are_found_before_anything_stops(
    deployed: Situation, cards: list[dict[str, Any]], args: dict[str, Any], size: str, share: str
) -> None:
    deployed.box("spark-b").sizes["/models/other"] = 60 << 30
    deployed.box("spark-b").facts["gpus"] = cards
    with pytest.raises(FloorError) as error:
        deployed.swap(
            "flagship", Wish(source="/models/other", args=[f"{name}={value}" for name, value in args.items()])
        )
    assert str(error.value) == (
        f"nothing was changed:\n  spark-b: the weights in /models/other take {size} of each card, the share of "
        f"flagship@spark-b is {share}; give it a larger utilization, or a smaller build"
    )
    assert "/models/other" not in deployed.text
    assert calls(deployed, "unit.stop", "operation.take") == []


def test_where_no_card_is_known_nothing_is_said_of_room(deployed: Situation) -> None:
    for box in deployed.world.boxes.values():
        box.sizes["/models/other"] = 600 << 30
    assert deployed.swap("flagship", Wish(source="/models/other")).complete


def test_weights_that_are_not_there(deployed: Situation) -> None:
    deployed.box("spark-b").lacking.add("/models/other")
    with pytest.raises(FloorError, match="spark-b: there is no /models/other"):
        deployed.swap("flagship", Wish(source="/models/other"))


CHANGES: list[tuple[str, str, Any]] = [
    ("vllm:v1", "vllm:v2", "image sha256:1 → sha256:2"),
    ("/models/flagship", "/models/other", "vllm serve /models/flagship → vllm serve /models/other"),
    ("    replicas", "    kv_cache: fp8\n    replicas", "new --kv-cache-dtype fp8"),
    ("    replicas", "    env: {VLLM_X: '1'}\n    replicas", "VLLM_X= → 1"),
]


@pytest.mark.parametrize(("old", "new", "told"), CHANGES)
def test_a_deployment_refuses_another_build_and_names_swap(deployed: Situation, old: str, new: str, told: str) -> None:
    for box in deployed.world.boxes.values():
        box.images["registry.example/vllm:v2"] = "sha256:2"
    deployed.edit(old, new)
    with pytest.raises(RefusedError) as error:
        deployed.deploy_all()
    lines = str(error.value).splitlines()
    assert lines[0].startswith("flagship@spark-a: its build becomes another (")
    assert told in lines[0]
    assert lines[2] == "`floor swap flagship` tests it before it serves; --ungated lets it serve as it is"
    assert calls(deployed, "operation.take") == []


def test_ungated_it_is_deployed_and_that_is_in_the_events(deployed: Situation) -> None:
    deployed.edit("    replicas", "    kv_cache: fp8\n    replicas")
    assert deployed.deploy_all(ungated=True).complete
    told = [event["data"]["why"] for event in deployed.box("spark-a").events if "ungated" in str(event)]
    assert told[0].startswith("ungated, its build becomes another: new --kv-cache-dtype fp8")
    assert deployed.members() == [BOTH, BOTH]


LAUNCH = [
    ("max_requests: 12", "max_requests: 13"),
    ("utilization: 0.4", "utilization: 0.35"),
    ("max_requests: 12", "port: 8005"),
    ("max_requests: 12", "context: 8192"),
]


@pytest.mark.parametrize(("old", "new"), LAUNCH)
def test_what_is_no_part_of_the_build_is_deployed_as_ever(deployed: Situation, old: str, new: str) -> None:
    deployed.edit(old, new)
    assert deployed.deploy_all().complete


def test_where_nobody_serves_there_is_nothing_to_compare_with(deployed: Situation) -> None:
    for box in deployed.world.boxes.values():
        box.stop(UNIT)
    deployed.world.sleep(10)
    deployed.edit("/models/flagship", "/models/other")
    assert deployed.deploy_all(force=True).complete


def test_a_copy_that_is_down_is_started_again_with_the_build_that_it_was_deployed_with(deployed: Situation) -> None:
    """Copies may differ in their builds; what was deployed is no change."""
    deployed.edit("[spark-a, spark-b]\nproxy", "[spark-a, {box: spark-b, kv_cache: fp8}]\nproxy")
    assert deployed.deploy_all(ungated=True).complete
    deployed.box("spark-b").stop(UNIT)
    deployed.world.sleep(10)
    assert deployed.deploy_all().complete
    assert deployed.members() == [BOTH, BOTH]


def test_another_box_with_the_same_build_needs_no_test(deployed: Situation) -> None:
    deployed.edit("models:", "  spark-c: {host: 192.0.2.13}\nmodels:")
    deployed.edit("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-c]")
    assert deployed.deploy_all().complete


def test_a_copy_held_for_a_test_is_let_in_by_a_deployment_of_the_build_before(deployed: Situation) -> None:
    """Whoever takes the change out by hand gets the old build back, and nothing holds it any more."""
    text = deployed.text
    one = left(deployed, "spark-a unit.start")
    one.restart("spark-b", force=True)  # another operation has come between: no swap is left unfinished
    one.text, one.was = text, None
    assert one.deploy_all().complete
    assert one.members() == [BOTH, BOTH]


def test_a_restart_does_not_let_in_what_is_held_for_a_test(deployed: Situation) -> None:
    deployed.world.banned = frozenset(coming(deployed).items())
    one = left(deployed, "spark-a unit.start")
    one.restart("spark-b", force=True)
    assert one.members() == [{"flagship@spark-b"}, {"flagship@spark-b"}]
    assert one.world.wrong == []


WRONG: list[tuple[Wish, str]] = [
    (
        Wish(args=["hermes"]),
        "--args hermes: write NAME=VALUE, such as tool-call-parser=hermes",
    ),
    (Wish(fetch="org/name"), "--fetch org/name: write ORG/NAME@COMMIT, or none"),
]


@pytest.mark.parametrize(("wish", "told"), WRONG)
def test_wishes_that_cannot_be_meant(deployed: Situation, wish: Wish, told: str) -> None:
    with pytest.raises(UsageError) as error:
        deployed.swap("flagship", wish)
    assert str(error.value) == told


def test_a_model_that_is_not_there(deployed: Situation) -> None:
    with pytest.raises(UsageError, match=r"^flagshop: no model of that name; there are flagship$"):
        deployed.swap("flagshop", PARSER)


def test_a_wish_that_makes_the_file_wrong(deployed: Situation) -> None:
    with pytest.raises(ConfigError, match=r"source"):
        deployed.swap("flagship", Wish(source="no-path"))


def test_a_program_of_the_box_has_no_image(situation: Situation) -> None:
    docker = '{kind: docker, image: "registry.example/vllm:v1"}'
    situation.text = ONE_BOX.replace(docker, "{kind: native, command: /opt/vllm/bin/vllm}")
    situation.deploy()
    with pytest.raises(UsageError, match="--image: the model does not run in a container"):
        situation.swap("flagship", Wish(image="x:1"))
