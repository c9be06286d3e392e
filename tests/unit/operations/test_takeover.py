"""What others run on the boxes: told before anything changes, never touched unless asked, taken over one by one."""

from __future__ import annotations

import pytest

from floor.errors import FloorError, RefusedError
from tests.simulated import others
from tests.simulated.others import Other
from tests.simulated.situation import ONE_BOX, Situation

BOTH = {"flagship@spark-a", "flagship@spark-b"}
BOXES = ("spark-a", "spark-b")


@pytest.fixture
def occupied(situation: Situation) -> Situation:
    """Two boxes with a container that serves the model, where floor is to come."""
    situation.site()
    for box in BOXES:
        situation.box(box).others = [Other("container", "vllm-main")]
    return situation


def test_what_is_in_the_way_is_told_and_nothing_is_changed(occupied: Situation) -> None:
    occupied.box("spark-a").others.append(Other("cron", "/etc/cron.d/models", port=None, engine=None))
    with pytest.raises(FloorError) as caught:
        occupied.deploy_all()
    told = str(caught.value)
    assert told.startswith("nothing was changed:\n")
    assert (
        "spark-a: container vllm-main: it runs on port 8000 in the place of flagship@spark-a; "
        "see `docker inspect vllm-main`"
    ) in told
    assert (
        "spark-a: cron's line /etc/cron.d/models:3: it may start or stop engines: /etc/cron.d/models:3 says "
        "`docker restart vllm`; see `sed -n 3p /etc/cron.d/models`"
    ) in told
    assert told.endswith(
        "`floor deploy --take-over` stops and disables what is not floor's, and `floor remove` brings it back; "
        "--force leaves what only may start or stop engines"
    )
    assert not occupied.box("spark-a").files
    assert all(one.running for box in BOXES for one in occupied.box(box).others)


def test_with_force_what_only_may_start_engines_is_left(situation: Situation) -> None:
    situation.site()
    situation.box("spark-a").others = [Other("cron", "/etc/cron.d/models", port=None, engine=None, running=False)]
    with pytest.raises(FloorError, match="may start or stop engines"):
        situation.deploy_all()
    assert situation.deploy_all(force=True).changed
    assert situation.box("spark-a").others[0].enabled


def test_a_dry_run_tells_it_too(occupied: Situation) -> None:
    notes = occupied.deploy_all(dry_run=True).plan.notes
    assert sum(note.startswith("in the way: ") for note in notes) == 2


def test_engines_are_replaced_one_by_one_and_serve_until_then(occupied: Situation) -> None:
    served: list[bool] = []
    occupied.world.watch = lambda: served.append(all(occupied.world.answering(box) for box in BOXES))
    assert occupied.deploy(take_over=True)
    assert occupied.members() == [BOTH, BOTH]
    assert all(served[served.index(True) :])  # once both proxies serve nobody is without an answer
    assert occupied.world.cut == []
    assert not any(one.running or one.policy != "no" for box in BOXES for one in occupied.box(box).others)
    assert (occupied.starts("spark-a"), occupied.starts("spark-b")) == (1, 1)
    assert not occupied.deploy(take_over=True)
    assert not occupied.deploy()


def test_a_plan_shows_each_step_with_its_reason(occupied: Situation) -> None:
    lines = occupied.deploy_all(dry_run=True, take_over=True).lines()
    text = "take over container vllm-main: stop it, keep it from starting again"
    why = "it runs on port 8000 in the place of flagship@spark-a"
    assert f"   spark-a: {text}   [{why}]" in lines
    assert not any("nobody serves" in line for line in lines)
    at = lines.index("   spark-b: drain flagship@spark-a")
    assert lines[at + 3] == "   spark-a: wait until flagship@spark-a has finished"


def test_what_starts_engines_is_disabled_before_any_engine_stops(occupied: Situation) -> None:
    occupied.box("spark-a").others += [
        Other("unit", "watch.timer", port=None, engine=None),
        Other("cron", "/etc/cron.d/models", port=None, engine=None, running=False),
    ]
    occupied.deploy(take_over=True)
    log = [
        line.split()[1] for line in occupied.world.log if line.split()[1].startswith("foreign.") and "look" not in line
    ]
    assert log == ["foreign.stop", "foreign.disable", "foreign.stop", "foreign.stop"]
    assert not any(one.enabled for one in occupied.box("spark-a").others if one.kind != "container")


def test_an_engine_on_another_port_is_reached_there_until_it_is_replaced(occupied: Situation) -> None:
    for box in BOXES:
        occupied.box(box).others[0].port = 8123
    assert occupied.deploy(take_over=True)
    assert occupied.members() == [BOTH, BOTH]
    assert occupied.world.cut == []


@pytest.mark.parametrize(
    "change",
    [{"served": "other"}, {"hidden": ("--api-key",)}, {"listens": "127.0.0.1"}],
)
def test_an_engine_that_proxies_cannot_use_goes_only_with_force(occupied: Situation, change: dict[str, object]) -> None:
    for box in BOXES:
        for name, value in change.items():
            setattr(occupied.box(box).others[0], name, value)
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        occupied.deploy(take_over=True)
    assert all(one.running for box in BOXES for one in occupied.box(box).others)
    assert occupied.deploy(take_over=True, force=True)
    assert occupied.members() == [BOTH, BOTH]


def test_the_only_copy_goes_only_with_force(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.site()
    situation.box("spark-a").others = [Other("unit", "vllm.service")]
    with pytest.raises(RefusedError, match="last serving copy"):
        situation.deploy(take_over=True)
    assert situation.deploy(take_over=True, force=True)


def test_what_floor_cannot_take_over_is_left_to_its_owner(occupied: Situation) -> None:
    occupied.box("spark-a").others = [Other("user-unit", "vllm.service")]
    with pytest.raises(FloorError, match=r"`systemctl --user disable --now vllm.service` as that user"):
        occupied.deploy(take_over=True)
    assert occupied.box("spark-a").others[0].running


def test_a_server_on_the_proxys_port_goes_right_before_ours_starts(occupied: Situation) -> None:
    occupied.box("spark-a").others.append(Other("unit", "nginx.service", port=8080, engine=None))
    occupied.deploy(take_over=True)
    log = [line.split()[1] for line in occupied.world.log if line.startswith("spark-a")]
    starts = [number for number, call in enumerate(log) if call == "unit.start"]
    assert "foreign.stop" in log[: starts[1]]  # the firewall is started before anything
    assert occupied.members() == [BOTH, BOTH]


def test_an_engine_of_another_model_beside_is_only_told(occupied: Situation) -> None:
    for box in BOXES:
        occupied.box(box).others[0].running = False
        occupied.box(box).others[0].policy = "no"
    occupied.box("spark-a").others.append(Other("container", "small", port=8200, served="small"))
    occupied.box("spark-a").others[-1].served = "small"
    outcome = occupied.deploy_all()
    assert occupied.box("spark-a").others[-1].running
    assert any("shares the box's memory" in note for note in outcome.plan.notes)


def test_another_proxy_in_front_is_told(occupied: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"where": "/etc/nginx/conf.d/llm.conf:2", "line": "server 192.0.2.11:8000;"}
    look = others.look
    monkeypatch.setattr(others, "look", lambda *given: {**look(*given), "proxies": [told]})
    notes = occupied.deploy_all(dry_run=True).plan.notes
    assert any("spark-a: /etc/nginx/conf.d/llm.conf:2 leads to an engine here" in note for note in notes)


def test_a_take_over_that_is_killed_goes_on_with_the_same_command(occupied: Situation) -> None:
    occupied.box("spark-a").others.append(Other("cron", "/etc/cron.d/models", port=None, engine=None, running=False))
    left = occupied.at_each_call(lambda now: now.deploy(take_over=True))
    for now in left[3::9]:
        now.deploy(take_over=True)
        assert now.members() == [BOTH, BOTH]
        assert now.world.cut == []
        assert not any(one.running or one.policy != "no" for one in now.box("spark-b").others)
        assert not now.box("spark-a").others[1].enabled
        assert not now.deploy()
