"""`floor guard` and `floor watchdog`, from their words to what is printed and changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.config import parse
from floor.config.load import Loaded
from floor.errors import FloorError
from floor.operations.guard import edited
from floor.operations.guard_state import advice_for
from tests.simulated.situation import SPLIT, Situation
from tests.unit.cli.conftest import Floor

GIB = 1 << 30
OTHERS = "others take 22.0 GiB, 24.0 GiB at most"
UNIT = "floor-copy-flagship.service"
HOLD = {"unit": UNIT, "reason": "2.5 GiB were left", "launch": "abc", "at": 1.0, "needs": None, "lasting": True}


def report(others: float = 22.0, most: float = 24.0, **more: Any) -> dict[str, Any]:
    return {
        "at": 1.0,
        "mode": "protect",
        "total": int(121.7 * GIB),
        "available": int(5.1 * GIB),
        "full": 0.0,
        "floor": 3 * GIB,
        "keep_free": 8 * GIB,
        "shared": True,
        "engines": [{"unit": UNIT, "starting": False, "memory": int(94.6 * GIB), "since": 1.0}],
        "others": {"p95": int(others * GIB), "most": int(most * GIB), "readings": 4000, "days": 3},
        "starts": {},
        "asked": 4.0,
        **more,
    }


@pytest.fixture
def story(situation: Situation) -> Situation:
    """The story's second box: 121.7 GiB, 0.78, others about 22, 9.5 GiB to be kept free. Nothing runs on the first."""
    situation.text = situation.text.replace(
        "spark-b: {host: 192.0.2.12}", "spark-b: {host: 192.0.2.12, keep_free: 9.5GiB}"
    ).replace("replicas: [spark-a, spark-b]", "replicas: [spark-a, {box: spark-b, utilization: 0.78}]")
    situation.site()
    situation.box("spark-b").guard = report()
    return situation


@pytest.fixture
def split(situation: Situation) -> Situation:
    """A group over both boxes, and a copy on the first alone."""
    situation.text = SPLIT.replace("    replicas: [spark-a, spark-b]\n", "    replicas: [spark-a]\n")
    situation.site()
    return situation


def test_status(floor: Floor, story: Situation) -> None:
    story.box("spark-b").holds = {UNIT: HOLD}
    done = floor("guard", "status")
    assert (done.code, done.lines) == (
        0,
        [
            "spark-a: no guard has reported",
            f"spark-b: 5.1 GiB of 121.7 GiB available, pressure 0 %; protect below 3.0 GiB; {OTHERS}",
            f"  {UNIT}: 94.6 GiB",
            f"  ! {UNIT} is kept down, until `floor guard release`: 2.5 GiB were left",
        ],
    )
    assert set(json.loads(floor("guard", "status", "--json").out)["spark-b"]) == {
        "state",
        "age",
        "unit",
        "mode",
        "holds",
        "calibrated",
    }


@pytest.mark.parametrize(
    ("age", "runs", "why", "ago", "do"),
    [
        (
            2400.0,
            "inactive",
            "floor-guard.service is inactive: nobody watches the memory of this box",
            "40 min",
            "deploy",
        ),
        (3.0, "failed", "floor-guard.service is failed: nobody watches the memory of this box", "3 s", "deploy"),
        (45.0, "active", "the guard does not report", "45 s", "systemctl status floor-guard"),
    ],
)
def test_the_report_of_a_guard_that_is_silent_is_told_with_its_age(
    floor: Floor, story: Situation, age: float, runs: str, why: str, ago: str, do: str
) -> None:
    story.box("spark-b").guard_age, story.box("spark-b").guard_runs = age, runs
    do = "run `floor deploy`" if do == "deploy" else f"see `{do}`"
    line = f"  ! {why}{';' if age != 45 else ':'} all of this is as it was {ago} ago; {do}"
    assert floor("guard", "status").lines[2] == line


@pytest.mark.parametrize(
    ("asked", "known"), [(None, "is not known yet"), (240.0, "is as it was 4 min ago"), (59.0, "")]
)
def test_what_engines_hold_is_told_with_its_age(
    floor: Floor, story: Situation, asked: float | None, known: str
) -> None:
    story.box("spark-b").guard = report(asked=asked)
    said = "systemd, docker or the driver gives no answer; see `journalctl -u floor-guard` there"
    line = [f"  ! what engines hold {known}: {said}"] if known else []
    assert floor("guard", "status").lines[3:] == line


def test_advise_says_what_the_story_came_to(floor: Floor, story: Situation) -> None:
    done = floor("guard", "advise")
    assert (done.code, done.lines) == (
        0,
        [
            "spark-a: its guard has not reported yet; is floor-guard.service running?",
            "spark-b: others take 22.0 GiB, 24.0 at most (4000 readings on 3 days); the shares of now leave 4.8 GiB",
            "  flagship@spark-b: utilization 0.74: 121.7 GiB less 22.0 GiB of others and 9.5 GiB kept free",
        ],
    )


def test_advise_tells_the_cache_where_a_start_has_logged(floor: Floor, story: Situation) -> None:
    start = {
        **dict.fromkeys(("load_seconds", "device", "context", "concurrency", "graphs", "graph_seconds")),
        "weights": 71.0,
        "available": 19.9,
        "tokens": 1_080_000,
        "graphs_estimated": 1.2,
    }
    story.box("spark-b").guard = report(starts={UNIT: {"launch": "a", "utilization": 0.78, "start": start}})
    # 94.9 GiB of which 19.9 were cache: 75.0 stay, and 0.74 is 90.1
    assert "utilization 0.74, cache_memory 15.0 GiB" in floor("guard", "advise", "spark-b").lines[1]
    # the guard has not seen that start, `floor calibrate` has
    story.box("spark-b").guard = report()
    story.box("spark-b").calibrations = {
        "flagship@spark-b": {"launch": "a", "utilization": 0.78, "start": start, "points": []}
    }
    assert "utilization 0.74, cache_memory 15.0 GiB" in floor("guard", "advise", "spark-b").lines[1]


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (report(shared=False), "its cards have memory of their own"),
        (report() | {"others": None}, "its guard does not know yet what else runs here"),
        (report(shared=None), "no driver tells whether its GPU shares the memory"),
    ],
)
def test_what_advice_rests_on(floor: Floor, story: Situation, state: dict[str, Any], says: str) -> None:
    story.box("spark-b").guard = state
    assert says in floor("guard", "advise", "spark-b").out


def test_apply_edits_the_file_and_deploys_that_copy_alone(floor: Floor, story: Situation) -> None:
    floor("deploy")
    story.edit("0.78", "0.74")
    story.site()  # the boxes know a launch by the floor.yaml that it comes from
    story.edit("0.74", "0.78")
    started = {box: len(story.box(box).starts) for box in ("spark-a", "spark-b")}
    done = floor("guard", "apply", "--dry-run")
    assert done.code == 3
    assert "+    replicas: [spark-a, {box: spark-b, utilization: 0.74}]" in done.lines
    assert Path("floor.yaml").read_text() == story.text
    done = floor("guard", "apply")
    assert (done.code, done.err) == (0, "")
    assert "{box: spark-b, utilization: 0.74}" in Path("floor.yaml").read_text()
    assert len(story.box("spark-a").starts) == started["spark-a"]
    assert len(story.box("spark-b").starts) > started["spark-b"]
    story.text = Path("floor.yaml").read_text()
    assert floor("guard", "apply").lines[-1] == "nothing to do"


def test_apply_that_is_refused_leaves_the_file_alone(floor: Floor, story: Situation) -> None:
    """Another copy is kept down; or the file cannot be written."""
    floor("deploy")
    story.edit("0.78", "0.74")
    story.site()
    story.edit("0.74", "0.78")
    story.box("spark-a").lose(UNIT)
    story.box("spark-a").holds = {UNIT: {**HOLD, "launch": ""}}
    done = floor("guard", "apply")
    assert (done.code, "spark-a: flagship@spark-a: the guard keeps it down" in done.err) == (5, True)
    assert Path("floor.yaml").read_text() == story.text
    story.box("spark-a").holds = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("floor.operations.guard.own_file.write", lambda path, _text: fails(path))
        done = floor("guard", "apply")
    assert (done.code, done.err.strip()) == (1, "error: floor.yaml: cannot be written")
    assert floor("guard", "apply").code == 0
    assert "{box: spark-b, utilization: 0.74}" in Path("floor.yaml").read_text()
    Path("floor.yaml").write_text(story.text)  # the older file again, of what runs as advised
    assert floor("guard", "apply").code == 0
    assert "{box: spark-b, utilization: 0.74}" in Path("floor.yaml").read_text()


def fails(path: Path) -> None:
    raise FloorError(f"{path.name}: cannot be written")


def test_apply_refuses_where_there_is_no_room(floor: Floor, story: Situation) -> None:
    start = dict.fromkeys(
        ("weights", "load_seconds", "tokens", "device", "context", "concurrency", "graphs_estimated", "graphs")
    )
    start |= {"available": 20.0, "graph_seconds": None}
    starts = {UNIT: {"launch": "a", "utilization": 0.78, "start": start}}
    story.box("spark-b").guard = report(others=60, most=70, starts=starts)
    done = floor("guard", "apply")
    assert done.code == 5
    assert "it holds 74.9 GiB beside its cache, so it does not fit; move it, or what else runs there" in done.err


def test_release(floor: Floor, story: Situation) -> None:
    story.box("spark-b").holds = {UNIT: HOLD}
    assert floor("guard", "release", "flagship@spark-b").code == 0
    assert story.box("spark-b").holds == {}
    done = floor("guard", "release", "flagship@spark-b")
    assert (done.code, "the guard does not keep it down" in done.err) == (5, True)
    assert floor("guard", "release", "flagship").code == 2
    assert floor("guard", "advise", "spark-z").code == 2


def test_a_part_of_a_group_has_the_share_of_its_own_box(story: Situation) -> None:
    """In the mode in which it runs; what differs on one box of it goes into `parts`, comments stay."""
    text = story.text.replace("192.0.2.11}", "192.0.2.11, fabric: {interface: fab0, address: 198.51.100.1}}")
    text = text.replace("keep_free: 9.5GiB}", "keep_free: 9.5GiB, fabric: {interface: fab0, address: 198.51.100.2}}")
    split = "    split: {boxes: [spark-a, spark-b], tensor_parallel: 2, utilization: 0.78}  # both\n    replicas:"
    text = text.replace("    replicas:", split)
    loaded = Loaded(parse(text), text, Path("floor.yaml"), ())
    told = {"state": report(), "mode": "split"}
    found = advice_for(loaded.config, "spark-b", told)
    assert [(one.backend, one.utilization) for one in found.advice] == [("flagship@spark-a+spark-b", 0.74)]
    after = edited(loaded, [found])
    assert "utilization: 0.78, parts: [{box: spark-b, utilization: 0.74}]}  # both\n" in after.text
    assert [part.utilization for part in after.config.parts("flagship")] == [0.78, 0.74]
    told["state"] = report(others=30)
    again = edited(after, [advice_for(after.config, "spark-b", told)])
    assert "parts: [{box: spark-b, utilization: 0.67}]" in again.text
    copies = advice_for(loaded.config, "spark-b", {**told, "mode": "replicas"})
    assert [one.backend for one in copies.advice] == ["flagship@spark-b"]


def test_a_group_is_let_go_on_all_of_its_boxes(floor: Floor, split: Situation) -> None:
    unit = "floor-group-flagship.service"
    split.box("spark-b").holds = {unit: {**HOLD, "unit": unit}}
    done = floor("guard", "release", "flagship@spark-a+spark-b")
    assert (done.code, done.err) == (0, "")
    assert split.box("spark-b").holds == {}
    done = floor("guard", "release", "flagship@spark-b+spark-a")
    assert (done.code, "write MODEL@BOX, as `floor status` shows it" in done.err) == (2, True)


def test_the_watchdog_of_a_box_that_has_a_part_alone_is_asked(floor: Floor, split: Situation) -> None:
    assert split.site().loaded.config.copies("flagship")[0].box == "spark-a"
    assert set(json.loads(floor("watchdog", "--json").out)) == {"spark-a", "spark-b"}


def test_what_the_watchdogs_found(floor: Floor, story: Situation) -> None:
    one = {"action": "none", "reason": "ok", "evidence": "generates", "alarm": False, "at": 1.0}
    lost = {"action": "restart", "reason": "stands still", "evidence": "for 300 s", "alarm": False, "at": 1.0}
    held = {"action": "none", "reason": "held", "evidence": "2.5 GiB were left", "alarm": True, "at": 1.0}
    story.box("spark-a").watchdog = {"flagship@spark-a": one, "small@spark-a": held}
    done = floor("watchdog")
    assert done.lines == [
        "flagship@spark-a: ok: generates",
        "! small@spark-a: held: 2.5 GiB were left",
        "spark-b: its watchdog has found nothing yet",
    ]
    story.box("spark-b").foreign_lines = ["heal.timer (somebody else's) may start or stop engines: …"]
    assert floor("watchdog").lines[-1] == "! spark-b: heal.timer (somebody else's) may start or stop engines: …"
    story.box("spark-b").foreign_lines = []
    assert floor("watchdog", "--once", "--dry-run").code == 0
    story.box("spark-b").watchdog = {"flagship@spark-b": lost}
    done = floor("watchdog", "--once", "--dry-run")
    assert (done.code, done.lines[-1]) == (3, "flagship@spark-b: restart: stands still: for 300 s")


def test_a_box_that_does_not_answer_is_told(floor: Floor, story: Situation) -> None:
    story.box("spark-b").up = False
    assert (floor("guard", "status").code, floor("watchdog").code) == (1, 1)
