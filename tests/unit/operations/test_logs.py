"""`floor logs` and `floor events`: which units a name means, and lines of several boxes."""

from __future__ import annotations

import pytest

from floor.errors import BoxError, UsageError
from floor.operations import logs
from tests.simulated.situation import Situation
from tests.unit.operations.test_agreement import SPLIT

COPY = "floor-copy-flagship.service"
SERVICES = ["floor-proxy.service", "floor-pool.service", "floor-agent.service"]
SERVICES += ["floor-guard.service", "floor-watchdog.service"]


@pytest.mark.parametrize(
    ("names", "units"),
    [
        ([], {"spark-a": [COPY, *SERVICES], "spark-b": [COPY, *SERVICES]}),
        (["flagship@spark-b"], {"spark-b": [COPY]}),
        (["flagship"], {"spark-a": [COPY], "spark-b": [COPY]}),
        (["spark-a"], {"spark-a": [COPY, *SERVICES]}),
        (["pool"], {"spark-a": ["floor-pool.service"], "spark-b": ["floor-pool.service"]}),
        (["proxy", "flagship@spark-a"], {"spark-a": [COPY, SERVICES[0]], "spark-b": [SERVICES[0]]}),
    ],
)
def test_what_a_name_means(situation: Situation, names: list[str], units: dict[str, list[str]]) -> None:
    assert logs.wanted_units(situation.site(), names) == units


def test_a_group_is_read_on_all_its_boxes(situation: Situation) -> None:
    situation.text = SPLIT
    site, unit = situation.site(), "floor-group-flagship.service"
    assert logs.wanted_units(site, ["flagship@spark-b+spark-a"]) == {"spark-a": [unit], "spark-b": [unit]}
    assert logs.wanted_units(site, ["flagship"]) == {"spark-a": [COPY, unit], "spark-b": [COPY, unit]}
    assert logs.wanted_units(site, ["group"])["spark-a"] == ["floor-group.service"]


def test_a_name_that_is_none(situation: Situation) -> None:
    with pytest.raises(UsageError, match=r"mars: no backend, box, model or service of that name; there are agent"):
        logs.wanted_units(situation.site(), ["mars"])


def read(situation: Situation, *, follow: bool = False) -> list[str]:
    said: list[str] = []
    logs.stream(situation.site(), ["flagship"], lines=2, since=None, follow=follow, say=said.append)
    return said


@pytest.mark.parametrize("follow", [False, True])
def test_each_line_has_its_box(situation: Situation, follow: bool) -> None:
    situation.site()
    for name, box in situation.world.boxes.items():
        box.journal = [f"{name} one", f"{name} two"]
    assert sorted(read(situation, follow=follow)) == [
        "spark-a: spark-a one",
        "spark-a: spark-a two",
        "spark-b: spark-b one",
        "spark-b: spark-b two",
    ]
    assert "spark-a logs {'units': ['floor-copy-flagship.service'], 'lines': 2" in situation.world.log[0]


@pytest.mark.parametrize("follow", [False, True])
def test_a_box_that_cannot_be_read_is_told_after_the_others(situation: Situation, follow: bool) -> None:
    situation.site()
    situation.box("spark-a").up = False
    situation.box("spark-b").journal = ["one"]
    said: list[str] = []
    with pytest.raises(BoxError, match="spark-a: no way there"):
        logs.stream(situation.site(), [], lines=2, since=None, follow=follow, say=said.append)
    assert said == ["spark-b: one"]


@pytest.mark.parametrize("follow", [False, True])
def test_a_reader_that_leaves_is_heard(situation: Situation, follow: bool) -> None:
    """`floor logs -f | head -1`: what printing raises is raised here, not lost in a thread."""
    situation.site()
    situation.box("spark-a").journal = ["one", "two"]

    def say(_line: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        logs.stream(situation.site(), [], lines=2, since=None, follow=follow, say=say)


def test_events_of_all_boxes_by_their_clocks(situation: Situation) -> None:
    situation.deploy()
    found, failed = logs.events(situation.site(), 5)
    assert failed == []
    assert len(found) == 5
    assert found == sorted(found, key=lambda event: float(event["at"]))
    assert set(found[0]) == {"at", "box", "who", "text", "data", "when"}


def test_events_of_those_that_answer(deployed: Situation) -> None:
    deployed.box("spark-a").up = False
    found, failed = logs.events(deployed.site(), 100)
    assert {event["box"] for event in found} == {"spark-b"}
    assert failed == ["spark-a: no way there"]
