"""`floor switch` on boxes in memory: what it says first, in which order it changes things, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from floor.errors import BoxError, BusyError, FloorError, RefusedError, UsageError
from floor.operations import switch
from tests.model.stories import SWITCHED
from tests.simulated.caller import Caller, KilledError
from tests.simulated.situation import SPLIT, Situation

GROUP, COPY, SECOND = "floor-group-flagship.service", "floor-copy-flagship.service", "floor-copy-second.service"
NAME = "flagship@spark-a+spark-b"
WATCH = "floor-group.service"
BOTH = {"flagship@spark-a", "flagship@spark-b"}


@pytest.fixture
def two(situation: Situation) -> Situation:
    """Two boxes in mode replicas with a model that is split and one that is not."""
    situation.text = SWITCHED
    assert situation.deploy()
    situation.world.log.clear()
    situation.said.clear()
    return situation


def left(situation: Situation, call: str, mode: str = "split") -> Situation:
    """A switch whose process was killed right after such a call."""
    situation.world.log.clear()
    whole = situation.at_each_call(lambda one: one.switch(mode).changed)
    found = next(one for one in whole if call in one.world.log)
    found.said.clear()
    return found


def running(situation: Situation) -> dict[str, set[str]]:
    """The engines that run, by box."""
    return {
        box.name: {unit for unit in box.processes if unit.startswith(("floor-copy-", "floor-group-"))}
        for box in situation.world.boxes.values()
    }


def refused(situation: Situation, mode: str = "split") -> str:
    with pytest.raises(RefusedError) as error:
        situation.switch(mode)
    assert not any("operation.take" in line for line in situation.world.log)
    return str(error.value)


def test_there_and_back(two: Situation) -> None:
    assert two.switch("split").complete
    assert running(two) == {"spark-a": {GROUP, SECOND}, "spark-b": {GROUP, SECOND}}
    assert two.members() == [{NAME}, {NAME}]
    assert two.switch("replicas").complete
    assert running(two) == {"spark-a": {COPY, SECOND}, "spark-b": {COPY, SECOND}}
    assert two.members() == [BOTH, BOTH]
    assert (two.world.wrong, two.world.cut) == ([], [])
    assert [box.starts.count(SECOND) for box in two.world.boxes.values()] == [1, 1]


def test_a_second_time_there_is_nothing_to_do(two: Situation) -> None:
    two.switch("split")
    assert two.switch("split").lines() == ["nothing to do"]
    assert two.deploy_all().lines() == ["nothing to do"]


def test_old_engines_stop_on_every_box_before_any_box_is_in_the_mode_and_that_before_anything_starts(
    two: Situation,
) -> None:
    two.switch("split")
    log = [line.split()[1] for line in two.world.log]
    last_stop = max(at for at, call in enumerate(log) if call == "unit.stop")
    starts = [at for at, call in enumerate(log) if call == "unit.start"]
    puts = [at for at, call in enumerate(log) if call == "mode.put" and last_stop < at < starts[0]]
    assert len(puts) == 2
    assert len(starts) == 2
    assert log[puts[-1] : starts[0]].count("memory.wait") == 2


def test_no_look_delays_what_comes_once_all_is_stopped(two: Situation) -> None:
    two.switch("split")
    log = [line.split()[1] for line in two.world.log]
    last_stop = max(at for at, call in enumerate(log) if call == "unit.stop")
    assert "observe" not in log[last_stop : log.index("unit.start")]


def test_a_box_that_boots_into_the_old_mode_in_between_keeps_it_until_the_command_runs_again(two: Situation) -> None:
    box = two.box("spark-b")
    answer = box.calls.mode_put

    def booted(params: dict[str, Any]) -> Any:
        box.calls.mode_put = answer  # type: ignore[method-assign]
        box.start(COPY)
        return answer(params)

    box.calls.mode_put = booted  # type: ignore[method-assign]
    with pytest.raises(FloorError, match=f"spark-b: {COPY} runs again, so the mode stays; run the same command again"):
        two.switch("split")
    assert box.text("/etc/floor/mode") == "replicas\n"
    two.switch("split")
    assert two.switch("split").lines() == ["nothing to do"]
    assert COPY not in box.processes


def test_a_dry_run_says_what_it_takes_and_how_long(two: Situation) -> None:
    outcome = two.switch("split", dry_run=True)
    assert outcome.pending
    assert not outcome.changed
    shown = outcome.lines()
    assert "3. take out what does not run in mode split   (nobody serves flagship meanwhile)" in shown
    assert "4. stop what does not run in mode split   (nobody serves flagship meanwhile)" in shown
    assert "5. mode split" in shown
    assert (
        "note: nobody answers for flagship for about 41 min: 30 s to stop, 40 min to start and warm up "
        "(a guess: start_time of floor.yaml, as no start of it was seen yet)"
    ) in shown
    assert "note: second runs in both modes: nothing of it is touched" in shown
    assert outcome.as_json()["expected"]["flagship"]["guess"] is True
    assert two.world.log.count("spark-a operation.take") == 0


def test_clients_are_told_when_to_come_back(two: Situation) -> None:
    for box in two.world.boxes.values():
        box.noted = {NAME: {"starts": [{"launch": "other", "seconds": 60.0, "warm": 10.0}], "stops": []}}
    two.switch("split")
    told = two.box("spark-b").announced
    assert (told["mode"], told["models"]) == ("split", {"flagship": 105})
    log = two.world.log
    assert log.index("spark-b pool.announce") < log.index("spark-a drain.add")


def test_a_file_that_is_not_deployed_is_refused(two: Situation) -> None:
    two.edit("vllm:v1", "vllm:v2")
    assert refused(two) == (
        "spark-a: another floor.yaml was deployed there; run `floor deploy` first: a switch changes the mode and "
        "nothing else"
    )


def test_bare_boxes_are_refused(situation: Situation) -> None:
    situation.text = SPLIT
    assert refused(situation).startswith("spark-a: nothing was deployed there yet; run `floor deploy` first")


def test_without_a_split_there_is_nothing_to_switch(deployed: Situation) -> None:
    told = "floor.yaml: no model has `split`: there is nothing to switch; write which boxes share one"
    assert refused(deployed) == told


def test_a_mode_that_there_is_not(two: Situation) -> None:
    with pytest.raises(UsageError, match=r"^mode 'both': there is no such mode; write one of replicas, split$"):
        two.switch("both")


def test_a_box_that_the_group_needs_must_answer(two: Situation) -> None:
    two.world.cut_off("spark-b", 1e9)
    assert refused(two) == "spark-b: no way there: flagship@spark-a+spark-b cannot start without it"


def test_from_a_group_that_lost_a_box_the_other_one_serves_alone(two: Situation) -> None:
    """And the box that comes back is brought there by the same command."""
    two.switch("split")
    two.world.power_cut("spark-b", 1e9)
    assert not two.switch("replicas").complete
    assert running(two)["spark-a"] == {COPY, SECOND}
    assert two.members()[0] == {"flagship@spark-a"}
    two.box("spark-b").back_at = two.world.now
    two.world.sleep(5)
    assert running(two)["spark-b"] == {GROUP, SECOND}  # it boots into the mode that it was in, and waits at its gate
    assert two.members()[0] == {"flagship@spark-a"}
    with pytest.raises(RefusedError, match=r"in different modes \(spark-a: replicas, spark-b: split\).*floor switch"):
        two.deploy_all()
    assert two.switch("replicas").complete
    assert two.members() == [BOTH, BOTH]
    assert two.world.wrong == []


def missed(two: Situation, text: str) -> None:
    """A box is away while the mode becomes replicas and while another floor.yaml is deployed, and is back then."""
    two.switch("split")
    two.world.power_cut("spark-b", 1e9)
    two.switch("replicas")
    two.text = text
    two.deploy_all(force=True)
    two.box("spark-b").back_at = two.world.now
    two.world.sleep(5)
    with pytest.raises(RefusedError, match="in different modes"):
        two.deploy_all()


def test_a_box_that_missed_a_switch_and_a_deployment_comes_along(two: Situation) -> None:
    missed(two, two.text.replace("max_requests: 12", "max_requests: 13"))
    two.switch("replicas")
    two.deploy_all()
    assert two.members() == [BOTH, BOTH]
    assert two.deploy_all().lines() == ["nothing to do"]
    assert two.world.wrong == []


def test_also_where_nothing_is_split_any_more(two: Situation) -> None:
    begin = two.text.index("    split:")
    missed(two, two.text[:begin] + two.text[two.text.index("\n", begin) + 1 :])
    two.switch("replicas")
    two.deploy_all()
    assert running(two)["spark-b"] == {COPY, SECOND}
    assert two.members() == [BOTH, BOTH]


def test_boxes_that_were_in_the_mode_already_are_not_taken_out_of_it_by_an_abort(two: Situation) -> None:
    """What was down in it was started by the switch that was left."""
    two.box("spark-b").stop(COPY)
    one = left(two, "spark-b unit.start", "replicas")
    assert one.switch("replicas", dry_run=True).pending
    one.switch_back()
    assert one.said[0] == "ends operation 2, floor switch of ada@laptop, and goes back to mode replicas"
    assert one.members() == [BOTH, BOTH]


def test_a_deployment_meanwhile_names_what_ends_the_switch(two: Situation) -> None:
    one = left(two, "spark-a unit.stop")
    one.world.sleep(100)
    told = (
        "floor switch of ada@laptop, operation 2, did not end: `floor switch split` goes on with it, "
        "`floor switch --abort` goes back"
    )
    with pytest.raises(RefusedError) as error:
        one.deploy_all()
    assert str(error.value) == told
    with pytest.raises(RefusedError, match="what was left is no deployment, but floor switch of ada@laptop: `floor"):
        one.abort()
    assert switch.modes(one.site())["unfinished"] == told.partition("end: ")[2]
    assert one.switch("split").complete
    assert one.members() == [{NAME}, {NAME}]


def test_with_boxes_in_different_modes_either_way_is_open(two: Situation) -> None:
    one = left(two, "spark-b memory.wait")
    assert one.switch_back().complete
    assert one.said[0] == "ends operation 2, floor switch of ada@laptop, and goes back to mode replicas"
    assert one.members() == [BOTH, BOTH]
    with pytest.raises(RefusedError, match="no switch was left unfinished: the last one on these boxes is done"):
        one.switch_back()


def test_the_other_mode_by_name_ends_it_too(two: Situation) -> None:
    one = left(two, "spark-b unit.start")
    assert one.switch("replicas").complete
    assert one.members() == [BOTH, BOTH]
    assert one.deploy_all().lines() == ["nothing to do"]


def test_going_back_that_was_left_is_gone_on_with(two: Situation) -> None:
    one = left(two, "spark-b memory.wait")
    one.fate = Caller(0, 30, after=True, then=lambda _box: one.caller.kill())
    with pytest.raises(KilledError):
        one.switch_back()
    one.said.clear()
    assert one.switch_back().complete
    assert one.said[0].endswith("floor switch --abort of ada@laptop, and goes back to mode replicas")


def test_while_somebody_switches_others_wait(two: Situation) -> None:
    one = left(two, "spark-a unit.stop")
    for box in one.world.boxes.values():
        assert box.record is not None
        box.record["by"] = {**box.record["by"], "user": "bob"}
    told = switch.modes(one.site())
    assert (told["unfinished"], told["at_work"]) == (None, "bob@laptop: floor switch, operation 2")
    for verb in (lambda: one.switch("split"), one.switch_back, one.deploy_all):
        with pytest.raises(BusyError, match=r"bob@laptop"):
            verb()


def test_memory_that_does_not_come_back_asks_for_a_reboot(two: Situation) -> None:
    two.box("spark-b").full = True
    with pytest.raises(FloorError) as error:
        two.switch("split")
    assert "spark-b: wait until flagship@spark-a+spark-b fits in memory: not within 120 s" in str(error.value)
    assert "reboot spark-b" in str(error.value)
    assert GROUP not in running(two)["spark-a"]


def test_a_model_that_has_no_replicas_is_not_taken_away_by_itself(situation: Situation) -> None:
    situation.text = SPLIT.replace("    replicas: [spark-a, spark-b]\n", "")
    situation.deployment_in("split")
    with pytest.raises(RefusedError, match="this takes the last serving copy of flagship"):
        situation.switch("replicas")
    outcome = situation.switch("replicas", dry_run=True)
    assert "note: nobody answers for flagship in mode replicas: floor.yaml has no replicas of it" in outcome.lines()
    assert situation.switch("replicas", force=True).changed
    assert situation.members() == [set(), set()]


def test_the_first_deployment_may_be_in_mode_split(situation: Situation) -> None:
    situation.text = SPLIT
    situation.deployment_in("split")
    assert running(situation) == {"spark-a": {GROUP}, "spark-b": {GROUP}}
    assert situation.members() == [{NAME}, {NAME}]
    assert situation.deploy_all().lines() == ["nothing to do"]
    with pytest.raises(RefusedError, match=r"in mode split, not replicas; `floor switch replicas` brings them there"):
        situation.deployment_in("replicas")


def test_a_change_in_mode_split_replaces_the_whole_group(two: Situation) -> None:
    two.switch("split")
    two.edit("max_requests: 12", "max_requests: 13")
    with pytest.raises(RefusedError, match="this takes the last serving copy of flagship"):
        two.deploy_all()
    starts = [box.starts.count(GROUP) for box in two.world.boxes.values()]
    assert two.deploy_all(force=True).complete
    assert [box.starts.count(GROUP) for box in two.world.boxes.values()] == [one + 1 for one in starts]
    assert two.members() == [{NAME}, {NAME}]
    assert running(two)["spark-a"] == {GROUP, SECOND}
    two.switch("replicas")
    argv = two.box("spark-a").processes[COPY].argv
    assert argv[argv.index("--max-num-seqs") + 1] == "13"


def test_a_split_that_is_taken_out_of_the_file_is_retired(two: Situation) -> None:
    text = two.text
    begin = text.index("    split:")
    two.text = text[:begin] + text[text.index("\n", begin) + 1 :]
    assert two.deploy_all().complete
    assert [GROUP in box.enabled for box in two.world.boxes.values()] == [False, False]
    assert not [path for box in two.world.boxes.values() for path in box.files if "group" in path]


def unsplit(situation: Situation) -> None:
    """Take `split` out of the file."""
    begin = situation.text.index("    split:")
    situation.text = situation.text[:begin] + situation.text[situation.text.index("\n", begin) + 1 :]


def test_who_watches_over_a_group_that_goes_is_told_before_rules_and_ports_change(two: Situation) -> None:
    """It would take the other box for lost, and kill what still serves; and it goes on watching."""
    two.switch("split")
    unsplit(two)
    two.said.clear()
    assert two.deploy_all(force=True).complete
    order = [line for line in two.said if not line.startswith(("note:", " "))]
    assert order[:2] == ["tell who watches over groups which of them go", "guard the boxes"]
    assert f"  spark-b: believe no silence around {NAME}   [it is drained and stopped]" in two.said
    assert running(two) == {"spark-a": {COPY, SECOND}, "spark-b": {COPY, SECOND}}
    assert two.deploy_all().lines() == ["nothing to do"]


def test_wherever_a_deployment_that_takes_a_group_away_is_killed_somebody_watches_over_what_runs(
    two: Situation,
) -> None:
    """And taken back it is watched over as before."""
    two.switch("split")
    text = two.text
    two.world.log.clear()
    unsplit(two)
    killed = two.at_each_call(lambda one: one.deploy_all(force=True).changed)
    between = [one for one in killed if any(GROUP in box.processes for box in one.world.boxes.values())]
    assert len(between) > 5
    for left in between:
        parts = [box for box in left.world.boxes.values() if GROUP in box.processes]
        assert all(WATCH in box.processes for box in parts)
        begun = [line for line in left.world.log if line.split()[1] in ("files.put", "unit.reload")]
        assert not begun or all(box.processes[GROUP].leaves for box in parts)
    left = next(one for one in between if all(box.processes[GROUP].leaves for box in one.world.boxes.values()))
    left.world.sleep(100)
    left.text, left.said = text, []
    assert left.abort().complete
    assert f"  spark-a: watch over {NAME} as before   [it stays]" in left.said
    assert not any(box.processes[GROUP].leaves for box in left.world.boxes.values())
    assert left.starts("spark-a", GROUP) == 1
    assert left.deploy_all().lines() == ["nothing to do"]


def test_parts_that_wait_at_their_gates_are_not_told_that_they_go(two: Situation) -> None:
    """They have nothing that could be ended, and no mark that could say it."""
    two.switch("split")
    for box in two.world.boxes.values():
        box.processes[GROUP].waits = True
    unsplit(two)
    two.world.log.clear()
    assert two.deploy_all(force=True).complete
    assert not [line for line in two.world.log if line.endswith("group.leave")]
    assert running(two) == {"spark-a": {COPY, SECOND}, "spark-b": {COPY, SECOND}}


def test_with_other_boxes_it_starts_again_under_its_new_settings(two: Situation) -> None:
    two.switch("split")
    two.edit("boxes: [spark-a, spark-b]", "boxes: [spark-b, spark-a]")
    assert two.deploy_all(force=True).complete
    assert "floor-group.service" in two.box("spark-a").processes
    assert two.members() == [{"flagship@spark-b+spark-a"}] * 2
    assert two.deploy_all().lines() == ["nothing to do"]


def test_what_runs_and_is_of_the_other_mode_is_stopped_by_a_deployment(two: Situation) -> None:
    """However it came to run: beside what serves it has no place."""
    box = two.box("spark-a")
    box.edit("/etc/floor/mode", "split\n")
    box.start(GROUP)
    box.edit("/etc/floor/mode", "replicas\n")
    two.world.wrong.clear()
    assert two.deploy_all().complete
    assert running(two)["spark-a"] == {COPY, SECOND}
    assert two.members() == [BOTH, BOTH]


def test_the_modes_are_told(two: Situation) -> None:
    told = switch.modes(two.site())
    none = {"absent": {}, "unfinished": None, "at_work": None}
    assert told == {"boxes": {"spark-a": "replicas", "spark-b": "replicas"}, **none}


def test_where_no_box_answers_no_mode_is_told(two: Situation) -> None:
    for box in two.world.boxes:
        two.world.cut_off(box, 1e9)
    with pytest.raises(BoxError, match=r"^no box answers:\nspark-a: no way there\nspark-b: no way there$"):
        switch.modes(two.site())
