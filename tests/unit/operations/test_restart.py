"""`floor restart`: which copies, in which order, and where it goes on."""

from __future__ import annotations

import pytest

from floor.errors import BusyError, FloorError, RefusedError, UsageError
from floor.operations import restart
from tests.simulated.situation import ONE_BOX, Situation

UNIT = "floor-copy-flagship.service"
BOTH = {"flagship@spark-a", "flagship@spark-b"}


def outcome(situation: Situation, *names: str, dry_run: bool = False, force: bool = False) -> restart.Outcome:
    given = situation.site(), names, situation.said.append, situation.progress.append
    return restart.restart(*given, dry_run=dry_run, force=force)


def test_all_copies_one_after_the_other(deployed: Situation) -> None:
    found = outcome(deployed)
    assert (found.changed, found.complete) == (True, True)
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (2, 2)
    assert [line for line in deployed.said if not line.startswith(" ")] == [
        "restart flagship@spark-a",
        "restart flagship@spark-b",
        "done",
    ]


@pytest.mark.parametrize("name", ["flagship@spark-b", "spark-b"])
def test_one_copy_by_its_name_or_its_box(deployed: Situation, name: str) -> None:
    outcome(deployed, name)
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (1, 2)


def test_a_name_that_is_none(deployed: Situation) -> None:
    with pytest.raises(UsageError, match=r"mars: no managed backend, box or model of that name; there are flag"):
        outcome(deployed, "mars")


def test_a_dry_run_only_looks(deployed: Situation) -> None:
    found = outcome(deployed, dry_run=True)
    assert found.pending
    assert {line.split()[1] for line in deployed.world.log} == {"observe"}
    assert found.lines()[:2] == ["1. restart flagship@spark-a", "   spark-a: drain flagship@spark-a   [asked for]"]


def test_a_copy_that_is_out_already_goes_first(deployed: Situation) -> None:
    deployed.box("spark-b").lose(UNIT)
    deployed.world.sleep(2)
    _, plan = restart.restarting(deployed.site(), (), print, print, force=False).look()
    assert [stage.title for stage in plan.stages] == ["restart flagship@spark-b", "restart flagship@spark-a"]
    assert not plan.outage
    assert deployed.restart()
    assert deployed.members() == [BOTH, BOTH]


def test_the_last_copy_is_refused_until_the_outage_is_accepted(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        situation.restart()
    assert situation.restart(force=True)
    assert situation.starts("spark-a") == 2


def test_what_is_not_deployed_cannot_be_restarted(situation: Situation) -> None:
    with pytest.raises(FloorError, match="spark-a: flagship@spark-a is not deployed there yet; run `floor deploy`"):
        situation.restart()


def test_a_pool_that_does_not_run_cannot_let_go(deployed: Situation) -> None:
    deployed.box("spark-b").lose("floor-pool.service")
    with pytest.raises(FloorError, match="spark-b: nginx serves there and floor-pool does not run, so nothing can be"):
        deployed.restart()
    assert deployed.starts("spark-a") == 1


def test_a_box_that_does_not_answer_is_not_done(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    found = outcome(deployed, "spark-b")
    assert (found.changed, found.complete) == (False, False)
    assert found.lines() == ["note: left as it is: spark-b: no way there", "nothing to do on the boxes that answer"]


def test_an_edited_file_is_not_deployed_by_a_restart(deployed: Situation) -> None:
    """Nor is the engine asked on the port that it will have."""
    deployed.edit("max_requests: 12", "port: 8005")
    outcome(deployed)
    argv = deployed.box("spark-a").processes[UNIT].argv
    assert argv[argv.index("--port") + 1] == "8000"
    assert deployed.world.cut == []


def test_one_that_failed_goes_on_and_says_so(deployed: Situation) -> None:
    world = deployed.world
    world.calls, world.at = 0, 24
    world.then = lambda _box: setattr(world.boxes["spark-b"], "full", True)
    with pytest.raises(FloorError, match=r"fits in memory: not within 120 s: it needs 50.0 GiB, 1.0 GiB are free"):
        outcome(deployed)
    world.at, deployed.box("spark-b").full = None, False
    deployed.said.clear()
    outcome(deployed)
    assert deployed.said[0] == "note: goes on with operation 2 of ada@laptop, which had restarted flagship@spark-a"
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (2, 2)


def test_one_that_ended_is_not_gone_on_with(deployed: Situation) -> None:
    """Asked for again it is another restart, however the last one ended, when that has nothing left to do."""
    deployed.restart()
    record = deployed.box("spark-a").record
    assert record is not None
    for box in deployed.world.boxes.values():
        box.record = {**record, "state": "failed"}
    deployed.world.sleep(100)
    deployed.restart()
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (3, 3)


def test_one_of_other_copies_is_not_gone_on_with(deployed: Situation) -> None:
    killed = deployed.at_each_call(Situation.restart)
    left = next(left for left in killed if left.starts("spark-a") == 2)
    left.world.sleep(100)
    left.restart("flagship@spark-a")
    assert left.starts("spark-a") == 3


def test_one_at_work_is_not_gone_on_with(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process lives: whoever asks is told who it is."""
    killed = deployed.at_each_call(Situation.restart)
    left = next(left for left in killed if left.starts("spark-a") == 2)
    for module in ("floor.operations.lease.dead", "floor.operations.restart.dead"):
        monkeypatch.setattr(module, lambda _by: False)
    with pytest.raises(BusyError, match="ada@laptop"):
        left.restart()


def test_a_box_that_was_away_when_it_began_is_not_said_to_be_restarted(deployed: Situation) -> None:
    """It answers again when the work begins."""
    deployed.world.cut_off("spark-a", 3.5)
    assert not outcome(deployed, force=True).complete
    assert deployed.starts("spark-a") == 1


def test_one_lost_answer_is_no_absence(deployed: Situation) -> None:
    deployed.world.cut_off("spark-a", 2)
    assert outcome(deployed).complete
    assert deployed.starts("spark-a") == 2
